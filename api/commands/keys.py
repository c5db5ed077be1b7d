"""`vigencia keys`: keys for those who call over the network, each for one principal of one tenant."""

import re
from typing import TYPE_CHECKING, Annotated, Final

import typer

from api.commands import options
from api.commands.answering import answering

if TYPE_CHECKING:
    from api.auth.issued import Issuer
    from api.wiring import Services
    from ontology.access import ApiKey
    from ontology.errors import JSON
    from ontology.instants import Instant

keys = typer.Typer(name="keys", help="Keys for those who call over the network.", no_args_is_help=True)

PAGE: Final = 1000
_DAYS: Final = re.compile(r"([1-9][0-9]{0,4})d")

Grants = Annotated[
    list[str],
    typer.Option(
        "--grant", metavar="NAMESPACE[/PURPOSE]:GRANT,…", help="What it may do where; may stand several times."
    ),
]


@keys.command()
def create(
    principal: Annotated[str, typer.Argument(help="Who shall call with it; several keys may be one principal.")],
    grant: Grants,
    kind: Annotated[str, typer.Option("--kind", help="agent, person or service.")] = "agent",
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="90d|TIME", help="When it ends to hold; never if left out.")
    ] = None,
    may_import: Annotated[bool, typer.Option("--import", help="It may give recorded times.")] = False,
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a key and show it, once: only its digest is kept.

    vigencia keys create ann --grant 'notes:read,write' --grant '*:read' --expires 90d

    vigencia keys create backup --kind service --grant '*:read,export' --tenant acme --json

    Grants are read, write, propose, review, forget, export, admin, or all; a namespace or a purpose is a name, a
    beginning with * after it, or *. Once there is a key, the server answers nobody without one.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.settings import read_settings
        from api.wiring import services
        from ontology.access import PrincipalKind
        from ontology.errors import Incorrect, shown
        from ontology.grants import read_permits

        permits = read_permits(grant, "/grants")
        if kind not in set(PrincipalKind):
            raise Incorrect(f"{shown(kind)} is no kind of principal; there are {', '.join(PrincipalKind)}")
        settings = read_settings(store=store, tenant=tenant)
        with services(settings) as opened:
            first = not opened.store.access.has_keys()
            text, key = _issuer(opened).issue(
                principal, PrincipalKind(kind), permits, may_import=may_import,
                expires_at=_expiry(expires, opened.clock.now()),
            )  # fmt: skip
        if as_json:
            out.document({"key": text, **_document(key, key.created_at)})
            return
        out.line(text)
        out.tell("keep it now: it is not shown again, and nobody can look it up")
        if first:
            out.tell("it is the first key of this store: from now on its servers answer nobody without one")


@keys.command("list")
def list_(
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """List the keys of the tenant, those that hold no more too; a key itself is never shown.

    vigencia keys list

    vigencia keys list --tenant acme --json
    """
    with answering(as_json=as_json) as out:
        from api.settings import read_settings
        from api.wiring import services

        settings = read_settings(store=store, tenant=tenant)
        with services(settings, must_exist=True) as opened:
            now = opened.clock.now()
            items = [_document(key, now) for key in _all(opened)]
        if as_json:
            out.document({"items": items})
            return
        columns = ("prefix", "principal", "kind", "state", "grants", "created_at", "expires_at", "created_by")
        out.table(columns, [[_cell(item[name]) for name in columns] for item in items], narrow=columns[5:])


@keys.command()
def revoke(
    prefix: Annotated[str, typer.Argument(help="What `keys list` shows of it; vg_ before it may stand.")],
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """End a key: within a second no server of this store answers it.

    vigencia keys revoke k3v9x2ab

    vigencia keys revoke vg_k3v9x2ab --tenant acme --json
    """
    with answering(as_json=as_json) as out:
        from api.settings import read_settings
        from api.wiring import services

        settings = read_settings(store=store, tenant=tenant)
        with services(settings, must_exist=True) as opened:
            key = _issuer(opened).revoke(prefix)
            document = _document(key, opened.clock.now())
        if as_json:
            out.document(document)
            return
        out.line(f"the key vg_{key.prefix} of {key.principal} was revoked at {document['revoked_at']}")


def _issuer(opened: "Services") -> "Issuer":
    from api.auth.issued import Issuer
    from api.auth.principals import PERSON

    return Issuer(opened.store, opened.clock, opened.randomness, opened.settings.tenant, PERSON)


def _all(opened: "Services") -> list["ApiKey"]:
    from ontology.scope import Tenant, check_name

    tenant = Tenant(check_name(opened.settings.tenant, "tenant"))
    found: list[ApiKey] = []
    while page := opened.store.access.keys(tenant, limit=PAGE, after=found[-1].prefix if found else ""):
        found += page
    return sorted(found, key=lambda key: (key.created_at, key.prefix))


def _expiry(text: str | None, now: "Instant") -> "Instant":
    from ontology.instants import DAY, OPEN_END, Instant, parse_instant

    if text is None:
        return OPEN_END
    days = _DAYS.fullmatch(text)
    return parse_instant(text) if days is None else Instant(now + int(days[1]) * DAY)


def _document(key: "ApiKey", now: "Instant") -> dict[str, "JSON"]:
    from api.wire import rendering
    from ontology.grants import permit_lines
    from ontology.instants import OPEN_END

    ended = key.revocation
    return {
        "prefix": key.prefix,
        "tenant": key.tenant,
        "principal": key.principal,
        "kind": key.kind.value,
        "grants": permit_lines(key.permits),
        "import": key.may_import,
        "state": key.state_at(now).value,
        "created_at": rendering.instant(key.created_at),
        "created_by": key.created_by,
        "expires_at": None if key.expires_at == OPEN_END else rendering.instant(key.expires_at),
        "revoked_at": None if ended is None else rendering.instant(ended.at),
        "revoked_by": None if ended is None else ended.by,
    }


def _cell(value: "JSON") -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
