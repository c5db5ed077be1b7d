"""How a write is done and answered: the receipt, a replay, and the current state where the caller's is stale."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson
from starlette.responses import Response

from api.auth.permission import Permitted
from api.problems import version_tag
from api.routes.call import Call
from api.wire import rendering
from consolidation.items import Item
from graph.ports import Page, Reader
from graph.state import resolve_for
from ontology.errors import JSON, Forbidden, PreconditionRequired, VersionChanged
from ontology.facts import Slot, Version
from ontology.grants import Grant
from ontology.ids import EntityId
from ontology.instants import Instant

if TYPE_CHECKING:
    from consolidation.idempotency import Written

CURRENT_MAX = 50
"""How many facts of the current state a stale writer is shown."""


def write(
    call: Call,
    scope: Permitted,
    items: Sequence[Item],
    *,
    dry_run: bool,
    operation_id: str | None,
    recorded_at: Instant | None = None,
) -> Response:
    """Do the items and answer with the receipt.

    Raises what the writer raises; a stale version carries the current state of its slot.
    """
    try:
        written = call.write(
            scope, items, dry_run=dry_run, key=call.idempotency_key(operation_id), recorded_at=recorded_at
        )
    except VersionChanged as exc:
        raise with_current(call, scope, exc) from None
    return receipt_of(call, written)


def receipt_of(call: Call, written: "Written") -> Response:
    """The answer to a write that was done, as long as the caller prefers it."""
    headers = {"Cache-Control": "no-store"}
    if written.replayed:
        headers["Idempotency-Replayed"] = "true"
    receipt = written.receipt
    preferred = call.preferences.get("return")
    if preferred in ("minimal", "representation"):
        headers["Preference-Applied"] = f"return={preferred}"
    if preferred == "minimal":
        receipt = _minimal(receipt)
    return Response(orjson.dumps(receipt), media_type="application/json", headers=headers)


def expect(call: Call, reader: Reader, slot: Slot, stated: Version | None) -> Version:
    """The version of a slot that the caller of a correction has seen, which the writer then compares.

    It is that of `If-Match`, or `stated` in the body. Raises `PreconditionRequired` where the caller says neither,
    `VersionChanged` with the current state where no tag, or not what is stated, is that of the present version.
    """
    tags = call.if_match()
    if tags is None:
        if stated is None:
            raise PreconditionRequired("which version is meant? send the ETag of what you have read as 'If-Match'")
        return stated
    version = version_of(reader, slot)
    if version_tag(version) not in tags or stated not in (None, version):
        raise VersionChanged(
            f"the slot of {slot.predicate!r} is at version {version}; it has changed since it was read",
            members=current(call, reader, slot.subject, slot.predicate, version),
        )
    return version


def version_of(reader: Reader, slot: Slot) -> Version:
    """The present version of a slot, 0 where it has none."""
    head = reader.slot_heads([slot]).get(slot)
    return Version(0) if head is None else head.version


def with_current(call: Call, written: Permitted, stale: VersionChanged) -> VersionChanged:
    """The same refusal with what is believed now of the slot that it names, for a caller who may read that."""
    subject, predicate = stale.members.get("subject"), stale.members.get("predicate")
    members = dict(stale.members)
    try:
        scope = call.scope(written.scope.namespace, written.scope.purpose, needs=Grant.READ)
    except Forbidden:
        return stale
    if isinstance(subject, str) and isinstance(predicate, str):
        with call.read(scope) as reader:
            members |= current(call, reader, EntityId(subject), predicate, stale.members.get("current_version"))
    return VersionChanged(
        stale.message, slug=stale.slug, remedy=stale.remedy, violations=stale.violations, members=members
    )


def current(call: Call, reader: Reader, subject: EntityId, predicate: str, version: JSON = None) -> dict[str, JSON]:
    """What is believed now under a predicate of a subject, as members of a problem document."""
    now = call.services.clock.now()
    as_of = resolve_for(reader, now, None, None)
    facts = reader.state([(subject, predicate)], as_of, certain=False, page=Page(CURRENT_MAX))
    versions = [each.version for each in facts]
    names = rendering.names_in(reader, versions)
    heads = rendering.versions_of(reader, versions)
    if version is None:
        version = max((head.version for head in reader.slots_of(subject, predicate)), default=0)
    return {
        "subject": rendering.entity(subject, names),
        "predicate": predicate,
        "current_version": version,
        "current": rendering.facts(facts, names, heads, as_of.known_at, now),
    }


def _minimal(receipt: dict[str, JSON]) -> dict[str, JSON]:
    items = receipt.get("items")
    results: list[str] = []
    if isinstance(items, list):
        results = [str(item["result"]) for item in items if isinstance(item, dict)]
    return {
        "position": receipt.get("position"),
        "recorded_at": receipt.get("recorded_at"),
        "dry_run": receipt.get("dry_run"),
        "results": dict(Counter(results)),
    }
