"""Which extractors there are, and what all of them together find in one episode."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from consolidation.extraction.base import (
    Budget,
    Candidate,
    Code,
    EpisodeText,
    Extraction,
    Extracts,
    Known,
    Note,
    place_of,
)
from consolidation.extraction.mappings import MappingsExtractor
from consolidation.extraction.rules import RulesExtractor
from ontology.errors import Incorrect, Violation, shown
from ontology.schema import Schema

if TYPE_CHECKING:
    from pydantic_ai.models import Model

NAMES: Final = ("mappings", "rules", "llm")
"""From what is declared for one kind of text to what is only concluded; the earlier one wins."""


def extractors(
    schema: Schema, names: Sequence[str], model: "Callable[[], Model] | str | None" = None
) -> tuple[Extracts, ...]:
    """The extractors of these names for one schema, in the order of `NAMES`; to be kept as long as the schema is.

    Raises `Incorrect` for an unknown name or `llm` without a model, `Unsupported` where its extra is not installed.
    """
    for name in names:
        if name not in NAMES:
            raise _incorrect("unknown_value", f"there is no extractor {shown(name)}; use {', '.join(NAMES)}")
    found: list[Extracts] = []
    if "mappings" in names:
        found.append(MappingsExtractor(schema))
    if "rules" in names:
        found.append(RulesExtractor(schema))
    if "llm" in names:
        if model is None:
            raise _incorrect("missing", "the extractor 'llm' needs a model; name one as 'provider:model'")
        from consolidation.extraction.llm import LlmExtractor

        found.append(LlmExtractor(schema, model))
    return tuple(found)


def extract(text: EpisodeText, asked: Sequence[Extracts], known: Sequence[Known], budget: Budget) -> Extraction:
    """What all of them find, in the order of the spans.

    What a second one proposes again, word for word, is left out with a note: one episode says a thing once.
    """
    kept: dict[str, Candidate] = {}
    notes: dict[Note, None] = {}
    for each in asked:
        extraction = each.extract(text, known, budget)
        notes |= dict.fromkeys(extraction.notes)
        for candidate in extraction.candidates:
            first = kept.setdefault(_said(candidate), candidate)
            if first.extractor != candidate.extractor:
                detail = f"{candidate.extractor.name} proposes again what {first.extractor.name} read"
                notes[Note(code=Code.DROPPED, detail=detail, span=candidate.span)] = None
            elif first is not candidate:
                kept[f"{_said(candidate)} at {place_of(candidate)}"] = candidate
    return Extraction(candidates=tuple(sorted(kept.values(), key=place_of)), notes=tuple(notes))


def _said(candidate: Candidate) -> str:
    parts = (candidate.subject, candidate.predicate, candidate.value, candidate.operation, candidate.stated)
    return repr(parts)


def _incorrect(code: str, detail: str) -> Incorrect:
    return Incorrect(detail, violations=(Violation(pointer="/extractors", code=code, detail=detail),))
