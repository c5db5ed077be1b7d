"""Is there a way to the store, or to a scope, that names no grant? What a route can reach is read from its code."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from api.auth.permission import Permitted, permitted, permitted_namespace, permitted_tenant
from api.auth.principals import Principal, local_agent, local_person
from ontology.access import PrincipalKind
from ontology.errors import Fault, Forbidden, Incorrect
from ontology.grants import Grant, granted, read_permits
from ontology.scope import Tenant, scope_of

API: Final = Path(__file__).resolve().parents[2] / "api"
ROUTES: Final = sorted((API / "routes").glob("*.py")) + sorted((API / "wire").glob("*.py"))
MAKERS: Final = {"Scope", "scope_of", "Permitted", "permitted", "permitted_namespace", "permitted_tenant"}
DOORS: Final = {"store", "writer", "recorder", "forgetter", "sessions", "handoffs", "serving", "indexer", "_store"}
CALL: Final = API / "routes" / "call.py"


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def ways_round(path: Path) -> list[str]:
    """What in a module would get to the store, or make a scope, without the choke point."""
    found = []
    for node in nodes(path):
        match node:
            case ast.Attribute(attr=name) if name in DOORS and path != CALL:
                found.append(f"{path.name}:{node.lineno} reaches .{name}")
            case ast.Call(func=ast.Name(id=name)) if name in MAKERS and path != CALL:
                found.append(f"{path.name}:{node.lineno} calls {name}")
            case ast.ImportFrom(module=str(module), names=names) if path != CALL:
                found += [f"{path.name}:{node.lineno} imports {n.name}" for n in names if n.name in MAKERS - ALLOWED]
                found += [f"{path.name}:{node.lineno} imports {module}"] if module.endswith("_store.store") else []
    return found


ALLOWED: Final = {"Permitted", "Scope"}
"""As words of a signature."""


@pytest.mark.parametrize("path", ROUTES, ids=lambda path: path.name)
def test_no_route_gets_to_the_store_but_through_the_call(path: Path) -> None:
    assert ways_round(path) == []


def test_the_call_asks_for_a_scope_nowhere_but_at_the_choke_point() -> None:
    made = [n.func.id for n in nodes(CALL) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]

    assert {name for name in made if name in MAKERS} == {"permitted", "permitted_namespace", "permitted_tenant"}
    doors = [n for n in nodes(CALL) if isinstance(n, ast.Attribute) and n.attr in DOORS]
    demands = [n for n in nodes(CALL) if isinstance(n, ast.Attribute) and n.attr == "demand"]
    undemanding = {"namespaces", "findings", "findings of the index", "_queued"}
    """What takes no scope: namespaces are shown by grant, and findings are not of memory."""
    assert len(doors) == len(demands) + len(undemanding)


def test_a_permitted_scope_is_made_nowhere_else() -> None:
    made = [
        path.name
        for path in API.rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Permitted"
    ]

    assert set(made) == {"permission.py"}


def test_the_check_would_find_a_way_round(tmp_path: Path) -> None:
    module = tmp_path / "clever.py"
    module.write_text("from ontology.scope import scope_of\ncall.services.store.read(scope_of('acme'))\n")

    assert len(ways_round(module)) == 3


def principal(*grants: str) -> Principal:
    return Principal(
        name="ann", tenant=Tenant("acme"), kind=PrincipalKind.AGENT, permits=read_permits(list(grants)),
        may_import=False, local=False,
    )  # fmt: skip


def test_a_scope_is_given_with_the_grant_that_was_asked_for_and_no_other() -> None:
    scope = permitted(principal("notes/health:read,write"), "notes", "health", needs=Grant.READ)

    assert scope.demand(Grant.READ) == scope_of("acme", "notes", "health")
    with pytest.raises(Fault):
        scope.demand(Grant.WRITE)


@pytest.mark.parametrize(
    ("namespace", "purpose", "grant"),
    [("notes", "general", Grant.READ), ("note", "health", Grant.READ), ("notes", "health", Grant.REVIEW)],
)
def test_without_the_grant_there_is_no_scope_and_the_refusal_names_it(
    namespace: str, purpose: str, grant: Grant
) -> None:
    with pytest.raises(Forbidden) as refused:
        permitted(principal("notes/health:read,write"), namespace, purpose, needs=grant)

    assert refused.value.slug == "missing-role"
    assert refused.value.members == {"grant": grant.value, "namespace": namespace, "purpose": purpose}


def test_what_is_no_name_is_told_before_any_grant() -> None:
    with pytest.raises(Incorrect):
        permitted(principal(), "No Name", "general", needs=Grant.READ)


def test_one_of_two_grants_will_do_and_both_are_told() -> None:
    def asked(*grants: str) -> Permitted:
        return permitted(principal(*grants), "notes", "general", needs=Grant.WRITE, instead=Grant.PROPOSE)

    assert asked("notes:propose").grants == {Grant.PROPOSE}
    assert asked("*:all").grants == {Grant.WRITE, Grant.PROPOSE}
    with pytest.raises(Forbidden, match="'write'"):
        asked("notes:read,review,forget,export,admin")


def test_a_namespace_and_a_tenant_need_the_grant_in_all_of_them() -> None:
    whole = permitted_namespace(principal("notes:write"), "notes", needs=Grant.ADMIN, instead=Grant.WRITE)
    assert whole.grants == {Grant.WRITE}
    with pytest.raises(Forbidden, match="every purpose"):
        permitted_namespace(principal("notes/health:admin"), "notes", needs=Grant.ADMIN, instead=Grant.WRITE)
    assert permitted_tenant(principal("*:admin"), needs=Grant.ADMIN).demand(Grant.ADMIN).tenant == "acme"
    for grants in ("notes:admin", "*/health:admin", "*:read", "a*:admin"):
        with pytest.raises(Forbidden, match="whole tenant"):
            permitted_tenant(principal(grants), needs=Grant.ADMIN)


def test_on_this_machine_a_person_may_do_everything_and_an_agent_all_but_review() -> None:
    agent, person = (make(Tenant("default")) for make in (local_agent, local_person))

    assert {grant for grant in Grant if not granted(agent.permits, grant, "any", "any")} == {Grant.REVIEW}
    assert all(granted(person.permits, grant, "any", "any") for grant in Grant)
    assert (agent.may_import, person.may_import, agent.local, person.local) == (False, True, True, True)
