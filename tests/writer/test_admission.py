"""Who may write in a namespace, through the writer, on every engine."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from consolidation.admission import Standing, namespaces, transfer
from consolidation.items import Assert, Promote, Said
from ontology.errors import Forbidden, Incorrect
from ontology.scope import scope_of
from tests.writer.conftest import Desk

KEYED = Standing(may_write=True, may_propose=False, becomes_owner=True)
PROPOSER = Standing(may_write=False, may_propose=True, becomes_owner=True)
ITEM = Assert(subject="mira", predicate="lives_in", value="berlin", said=Said(valid_from="2026-01-01"))


def owner(desk: Desk) -> str | None:
    found = namespaces(desk.store, desk.scope.tenant).get(desk.scope.namespace)
    return None if found is None else found.owner


def give(desk: Desk, to: str, by: str = "root", *, administers: bool = True) -> None:
    transfer(desk.store, desk.scope, to=to, by=by, now=desk.clock.now(), administers=administers)


def refused(desk: Desk, principal: str, standing: Standing = KEYED, **options: Any) -> Forbidden:
    with pytest.raises(Forbidden) as info:
        desk.write(ITEM, principal=principal, standing=standing, **options)
    return info.value


def test_the_first_writer_with_a_credential_becomes_the_owner_and_then_only_it_writes(desk: Desk) -> None:
    desk.write(ITEM, principal="ann", standing=KEYED)
    assert owner(desk) == "ann"

    error = refused(desk, "ben")
    assert "'ann'" in error.message
    members = {"grant": "write", "namespace": desk.scope.namespace, "purpose": desk.scope.purpose, "owner": "ann"}
    assert error.members == members
    desk.write(replace(ITEM, value="oslo"), principal="ann", standing=KEYED)


def test_the_owner_has_the_namespace_in_every_purpose_and_no_other_namespace(desk: Desk) -> None:
    desk.write(ITEM, principal="ann", standing=KEYED)
    tenant, name = desk.scope.tenant, desk.scope.namespace

    desk.scope = scope_of(tenant, name, "health")
    refused(desk, "ben")
    desk.scope = scope_of(tenant, "another")
    desk.write(ITEM, principal="ben", standing=KEYED)
    assert {name: found.owner for name, found in namespaces(desk.store, tenant).items() if found} == {
        name: "ann", "another": "ben",
    }  # fmt: skip


def test_who_is_known_by_this_machine_becomes_no_owner_and_respects_one(desk: Desk) -> None:
    desk.write(ITEM, principal="person")
    desk.write(replace(ITEM, value="oslo"), principal="agent")
    assert owner(desk) is None

    give(desk, "ann")
    for principal in ("person", "agent"):
        with pytest.raises(Forbidden, match="belongs to 'ann'"):
            desk.write(replace(ITEM, value="rome"), principal=principal)


def test_what_is_refused_or_only_tried_gives_nobody_a_namespace(desk: Desk) -> None:
    with pytest.raises(Incorrect):
        desk.write(replace(ITEM, predicate="age", value="x"), principal="ann", standing=KEYED)
    desk.write(ITEM, principal="ann", standing=KEYED, dry_run=True)
    assert owner(desk) is None

    desk.write(ITEM, principal="ben", standing=KEYED)
    refused(desk, "ann", dry_run=True)


def test_a_retry_gets_its_receipt_though_the_namespace_was_given_on(desk: Desk) -> None:
    first = desk.write(ITEM, principal="ann", standing=KEYED, key="k")
    give(desk, "ben")

    assert desk.write(ITEM, principal="ann", standing=KEYED, key="k") == first
    refused(desk, "ann", key="another")


def test_a_proposal_waits_for_the_owner(desk: Desk) -> None:
    assert "no owner" in refused(desk, "ben", PROPOSER).message
    desk.write(ITEM, principal="ann", standing=KEYED)

    proposed = desk.one(replace(ITEM, value="oslo"), principal="ben", standing=PROPOSER)
    assert (proposed["state"], proposed["rule"]) == ("quarantined", "proposed")
    assert desk.values("mira", "lives_in") == ["berlin"]
    assert owner(desk) == "ann"
    desk.one(Promote(claim=proposed["claim"]), principal="ann", standing=KEYED)
    assert desk.values("mira", "lives_in") == ["oslo"]
    refused(desk, "ann", PROPOSER)


def test_an_owner_gives_its_namespace_on_and_nobody_else_does(desk: Desk) -> None:
    for by in ("ann", "ben"):
        with pytest.raises(Forbidden, match="nobody"):
            give(desk, "ben", by=by, administers=False)
    give(desk, "ann")
    with pytest.raises(Forbidden, match="'ann'"):
        give(desk, "ben", by="ben", administers=False)
    give(desk, "ben", by="ann", administers=False)
    assert owner(desk) == "ben"


def test_of_many_first_writers_one_wins_and_nothing_of_the_others_is_written(desk: Desk) -> None:
    names = ["ann", "ben", "cem", "dora"]
    done: list[str] = []
    start = threading.Barrier(len(names))

    def first(name: str) -> None:
        start.wait()
        try:
            desk.writer.write(desk.scope, name, [replace(ITEM, value=name)], standing=KEYED)
        except Forbidden:
            return
        done.append(name)

    threads = [threading.Thread(target=first, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert done == [owner(desk)]
    assert desk.values("mira", "lives_in") == done
