"""Is what is stored still what the rule makes of what was told? The check behind `journal verify --refold`.

Every slot's operations are folded again, commit by commit, and the rectangles compared with the stored versions,
those of the past included: a changed rule never rewrites the past silently.
"""

from collections.abc import Callable, Iterator
from typing import Final

from graph import journal
from graph.paging import each_slot, each_told
from graph.ports import MemoryStore, Page, Reader
from ontology.claims import Told
from ontology.events import Erasure, Kind
from ontology.facts import Slot
from ontology.instants import OPEN_END, OPEN_START, Instant, format_instant
from ontology.line import Run
from ontology.replay import Folded, Rectangle, rectangles
from ontology.scope import Tenant

PAGE: Final = 1000
FINDINGS_MAX: Final = 100


def refold(store: MemoryStore, tenant: Tenant, progress: Callable[[int], None] = lambda _: None) -> list[str]:
    """What differs between the stored versions and those that the operations make, a sentence per slot, at most 100.

    Of a slot from which something was erased only what is believed since then can be made again.
    `progress` is told the number of slots that were checked.
    """
    findings: list[str] = []
    checked = 0
    for scope in store.scopes(tenant):
        with store.read(scope) as reader:
            erasures = list(_erasures(reader))
            for head in each_slot(reader, None):
                since = max((at for erasure, at in erasures if erasure.reaches(head.slot)), default=OPEN_START)
                finding = _compare(reader, head.slot, since)
                if finding is not None:
                    findings.append(finding)
                checked += 1
                progress(checked)
                if len(findings) >= FINDINGS_MAX:
                    return findings
    return findings


def _compare(reader: Reader, slot: Slot, since: Instant) -> str | None:
    told = [each for each in each_told(reader, slot) if each.folded_from < OPEN_END]
    wanted = {r for r in rectangles(list(map(_folded, told))) if r.recorded_to > since}
    stored = {r for r in _stored(reader, slot) if r.recorded_to > since}
    if since > OPEN_START:  # what began before the erasure may have begun otherwise
        wanted, stored = ({_from(r, since) for r in side} for side in (wanted, stored))
    if wanted == stored:
        return None
    example = min(wanted ^ stored)
    side = "is not stored" if example in wanted else "is stored but does not follow"
    return (
        f"slot ({slot.subject}, {slot.predicate!r}): of {len(wanted)} versions that its operations make, "
        f"{len(wanted - stored)} are missing, {len(stored - wanted)} stored ones do not follow; for example "
        f"[{format_instant(example.run.valid_from)}, {format_instant(example.run.valid_to)}) recorded from "
        f"{format_instant(example.recorded_from)} {side}"
    )


def _from(rectangle: Rectangle, since: Instant) -> Rectangle:
    return Rectangle(rectangle.run, max(rectangle.recorded_from, since), rectangle.recorded_to)


def _folded(told: Told) -> Folded:
    return Folded(told.folded_from, told.folded_until, told.claim.entry)


def _stored(reader: Reader, slot: Slot) -> Iterator[Rectangle]:
    after = None
    while True:
        page = reader.audit(slot.subject, slot.predicate, valid_at=None, touched=None, page=Page(PAGE, after))
        for version in (fact.version for fact in page):
            if version.slot == slot:
                run = Run(version.valid_from, version.valid_to, version.value_key, version.certain)
                yield Rectangle(run, version.recorded_from, version.recorded_to)
        if len(page) < PAGE:
            return
        last = page[-1].version
        after = (last.recorded_from, last.ordinal, last.valid_from)


def _erasures(reader: Reader) -> Iterator[tuple[Erasure, Instant]]:
    after = 0
    while page := reader.events(after=after, limit=PAGE):
        for event, payloads in page:
            if event.kind in (Kind.ERASE, Kind.FORGET):
                changes = journal.decode(event, payloads, tenant=reader.scope.tenant)
                yield from ((each, event.recorded_at) for each in changes.erasures)
                yield from ((_of_slot(each.slot), event.recorded_at) for each in changes.removals)
        after = page[-1][0].position


def _of_slot(slot: Slot) -> Erasure:
    return Erasure(scope=slot.scope, subject=slot.subject, predicate=slot.predicate, value_key=None)
