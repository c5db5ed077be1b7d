"""What became of the reading of an episode, as its operation tells it: everything that was proposed stands in it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from consolidation.extraction.base import Candidate, Note, Span
from consolidation.proposals import Step
from ontology.errors import JSON

_KEPT = ("op", "result", "claim", "subject", "predicate", "opened", "superseded")
_WAITS = ("state", "rule", "reason")


@dataclass(slots=True, kw_only=True)
class ReadingReceipt:
    """The receipts so far, in wire form."""

    claims: list[JSON] = field(default_factory=list)
    refused: list[JSON] = field(default_factory=list)
    held: list[JSON] = field(default_factory=list)
    transactions: list[JSON] = field(default_factory=list)
    entities: dict[str, JSON] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def refuse(self, candidate: Candidate, reason: str) -> None:
        """Nothing is kept of a candidate."""
        self.counts["refused"] += 1
        self.refused.append({**_shown(candidate), "reason": reason})

    def add(self, receipt: dict[str, JSON], steps: Sequence[Step] | None) -> None:
        """What a transaction did; without `steps` an earlier attempt did it, and its quotes are not known."""
        self.transactions.append({"position": receipt["position"], "recorded_at": receipt["recorded_at"]})
        items, entities = receipt["items"], receipt["entities"]
        for entity in entities if isinstance(entities, list) else ():
            self.entities[str(entity["id"])] = entity
        for index, item in enumerate(items if isinstance(items, list) else ()):
            candidate = None if steps is None else steps[index].candidate
            if steps is not None and candidate is None:
                continue
            quoted = {} if candidate is None else _quoted(candidate)
            kept = {name: item[name] for name in (*_KEPT, *_WAITS)}
            self.counts[str(item["result"])] += 1
            if item["claim"] is None and item["rule"] is not None:
                self.refused.append({**kept, **quoted})
            elif item["rule"] is not None:
                self.held.append({**kept, **quoted})
            else:
                self.claims.append({**kept, "echo": item["echo"], **quoted, "warnings": item["warnings"]})

    def document(self, extractors: str, trust: str, notes: Sequence[Note]) -> dict[str, JSON]:
        """The whole, of what these extractors read in an episode of this trust."""
        return {
            "extractors": extractors,
            "trust": trust,
            "counts": dict(sorted(self.counts.items())),
            "claims": self.claims,
            "refused": self.refused,
            "held": self.held,
            "entities": list(self.entities.values()),
            "notes": [
                {
                    "code": note.code.value,
                    "detail": note.detail,
                    "span": None if note.span is None else _span(note.span),
                }
                for note in notes
            ],
            "transactions": self.transactions,
        }


def _shown(candidate: Candidate) -> dict[str, JSON]:
    return {"op": candidate.operation.value, "predicate": candidate.predicate, **_quoted(candidate)}


def _quoted(candidate: Candidate) -> dict[str, JSON]:
    return {
        "span": _span(candidate.span),
        "extractor": candidate.extractor.name,
        "pattern": candidate.rule,
        "verdict": candidate.verdict.value,
        "compares_to": candidate.compares_to,
    }


def _span(span: Span) -> dict[str, JSON]:
    return {"turn": span.turn, "start": span.start, "end": span.end, "quote": span.quote}
