"""Which slots would a functional predicate find with several certain values at one instant?"""

from typing import Final

from graph.paging import each_slot
from graph.periods import ALWAYS
from graph.ports import MemoryStore, Order, Page, Reader
from ontology.errors import JSON
from ontology.events import SlotHead
from ontology.facts import FactVersion
from ontology.instants import format_instant
from ontology.scope import Tenant

SHOWN_MAX: Final = 100
"""Conflicts that are told one by one; the count goes on."""
PAGE: Final = 1000


def conflicts_of(store: MemoryStore, tenant: Tenant, predicate: str) -> dict[str, JSON]:
    """How many slots hold several certain values at one instant of the newest belief, and the first of them."""
    count = 0
    told: list[JSON] = []
    for scope in store.scopes(tenant):
        with store.read(scope) as reader:
            for head in each_slot(reader, predicate):
                overlap = _overlap(reader, head)
                if overlap is not None:
                    count += 1
                    if len(told) < SHOWN_MAX:
                        told.append({
                            "namespace": scope.namespace, "purpose": scope.purpose, "subject": head.slot.subject,
                            "facts": [version.id for version in overlap],
                            "from": format_instant(max(version.valid_from for version in overlap)),
                        })  # fmt: skip
    return {"count": count, "slots": told}


def _overlap(reader: Reader, head: SlotHead) -> tuple[FactVersion, FactVersion] | None:
    """The first two certain versions of a slot that hold together."""
    reaching: FactVersion | None = None
    after = None
    while True:
        page = reader.history(
            head.slot.subject, head.slot.predicate, reader.head.recorded_at, ALWAYS,
            certain=True, order=Order.VALID, page=Page(PAGE, after),
        )  # fmt: skip
        for version in (fact.version for fact in page):
            if version.slot != head.slot:
                continue
            if reaching is not None and version.valid_from < reaching.valid_to:
                return reaching, version
            if reaching is None or version.valid_to > reaching.valid_to:
                reaching = version
        if len(page) < PAGE:
            return None
        last = page[-1].version
        after = (last.valid_from, last.recorded_from, last.ordinal)
