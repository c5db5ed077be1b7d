"""Which extractors read episodes here: those that the settings name, made once for each schema."""

from typing import Final

from consolidation.extraction.base import BUDGET, EpisodeText, Extraction, Extracts
from consolidation.pipeline import KnownFacts, Reads
from consolidation.summary import Extractive, Summarises
from ontology.errors import Unsupported, VigenciaError
from ontology.packs import load_core
from ontology.schema import Schema

SCHEMAS_MAX: Final = 64
"""For so many schemas their extractors are kept."""


class InstalledExtractors:
    """The extractors of these names, asked one after the other."""

    def __init__(self, names: tuple[str, ...], model: str | None = None) -> None:
        self._names = names
        self._model = model
        self._sound = False
        self._made: dict[int, tuple[Schema, tuple[Extracts, ...]]] = {}

    def version(self, schema: Schema) -> str:
        return ", ".join(f"{each.who.name} {each.who.version}" for each in self._of(schema))

    def read(self, text: EpisodeText, schema: Schema, known: KnownFacts) -> Extraction:
        """Only a model compares with what is known: the others do without the reads that this takes."""
        from consolidation.extraction.registry import extract

        return extract(text, self._of(schema), known() if "llm" in self._names else (), BUDGET)

    def fault(self) -> str | None:
        """Why these extractors cannot be made here, if they cannot: nothing would be read, whatever is recorded."""
        if "llm" not in self._names or self._sound:  # the others need nothing but their schema
            return None
        from consolidation.extraction.registry import extractors

        try:
            extractors(load_core(), self._names, self._model)
        except VigenciaError as exc:
            return str(exc)
        self._sound = True
        return None

    def _of(self, schema: Schema) -> tuple[Extracts, ...]:
        known = self._made.get(id(schema))
        if known is None or known[0] is not schema:
            if len(self._made) >= SCHEMAS_MAX:
                self._made.clear()
            from consolidation.extraction.registry import extractors  # it takes a while to load

            known = self._made[id(schema)] = (schema, extractors(schema, self._names, self._model))
        return known[1]


def summariser(names: tuple[str, ...], model: str | None) -> Summarises:
    """What makes the records of episodes: the model, where one reads them too."""
    if "llm" not in names or model is None:
        return Extractive()
    from consolidation.extraction.llm_summary import LlmSummary

    try:
        return LlmSummary(model)
    except Unsupported:  # nothing is read then, and `InstalledExtractors.fault` says why
        return Extractive()


_conforms: type[Reads] = InstalledExtractors
