"""Episodes and schemas for the tests of extraction."""

from typing import Final

from consolidation.extraction.base import (
    BUDGET,
    ByKey,
    ByName,
    EpisodeText,
    Extraction,
    Known,
    Observed,
    Turn,
    observed,
)
from consolidation.extraction.rules import RulesExtractor
from ontology.packs import builtin_pack, load_core, read_pack
from ontology.schema import Schema
from ontology.schema_merge import merge

DEMO: Final = merge(load_core(), builtin_pack("demo")).schema
BOGOTA: Final = observed("2024-11-18T23:40:00-05:00", "America/Bogota")
MIRA: Final = ByKey(key="mira")
RULES: Final = RulesExtractor(DEMO)


def schema(yaml: str, base: Schema = DEMO) -> Schema:
    return merge(base, read_pack(f"pack: test\n{yaml}")).schema


def episode(
    body: str | tuple[Turn, ...],
    *,
    me: ByKey | ByName | None = MIRA,
    media_type: str = "text/plain",
    at: Observed | None = BOGOTA,
) -> EpisodeText:
    return EpisodeText(body=body, me=me, media_type=media_type, source=None, session=None, observed_at=at)


def read(
    body: str | tuple[Turn, ...],
    under: Schema = DEMO,
    *,
    me: ByKey | ByName | None = MIRA,
    at: Observed | None = BOGOTA,
    known: tuple[Known, ...] = (),
) -> Extraction:
    """What the rules of a schema read."""
    extractor = RULES if under is DEMO else RulesExtractor(under)
    return extractor.extract(episode(body, me=me, at=at), known, BUDGET)
