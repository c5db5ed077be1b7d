"""Statements that contradict each other, read by rules: every one is read, the newest wins, and questions are answered.

The pack is made from the templates of the data, so no rule here was written for one of its sentences.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from api.wiring import Services
from consolidation.extraction.base import BUDGET, ByName, Candidate, EpisodeText, observed
from consolidation.extraction.rules import RulesExtractor
from consolidation.items import Assert, Said
from graph.ports import Page
from ontology.facts import AsOf
from ontology.ids import EntityId
from ontology.instants import DAY, SECOND, Instant, days_from_civil, format_instant
from ontology.packs import load_core
from ontology.schema_document import pack_from_document
from ontology.schema_merge import merge
from ontology.scope import scope_of

FIRST: Final = days_from_civil(2020, 1, 1) * DAY
EVERYTHING: Final = Page(100)
SHARED: Final = {"P276": "P131"}
"""Two relations have the same template, which the schema refuses as ambiguous: the pack keeps one of them."""


@dataclass(frozen=True)
class Data:
    statements: list[str]
    questions: list[tuple[str, list[str]]]
    cloze: dict[str, str]
    asked: dict[str, str]


@pytest.fixture(scope="module")
def data(data_folder: Path) -> Data:
    folder = data_folder / "factconsolidation"
    if not folder.is_dir():
        pytest.skip(f"no statements at {folder}")
    sets = json.loads((folder / "conflict_resolution_6k.json").read_text(encoding="utf-8"))
    (single,) = [one for one in sets if one["metadata"]["source"] == "factconsolidation_sh_6k"]
    lines = single["context"].split("\n")
    return Data(
        statements=[line for line in lines if re.match(r"\d+\. ", line)],
        questions=list(zip(single["questions"], single["answers"], strict=True)),
        cloze=json.loads((folder / "mquake_cloze_templates.json").read_text(encoding="utf-8")),
        asked=json.loads((folder / "mquake_question_templates.json").read_text(encoding="utf-8")),
    )


def pack(data: Data) -> dict[str, object]:
    return {
        "pack": "mquake",
        "predicates": {
            name: {
                "datatype": "entity",
                "cardinality": "functional",
                "patterns": [template.replace("[X]", "{subject}").replace("__", "{value}")],
            }
            for name, template in data.cloze.items()
            if name not in SHARED
        },
    }


@pytest.fixture(scope="module")
def candidates(data: Data) -> list[Candidate]:
    """One for each statement, each the only one of its episode."""
    extractor = RulesExtractor(merge(load_core(), pack_from_document(pack(data))).schema)
    found: list[Candidate] = []
    for number, statement in enumerate(data.statements):
        text = EpisodeText(
            body=statement,
            me=None,
            media_type="text/plain",
            source="a list",
            session=None,
            observed_at=observed(format_instant(Instant(FIRST + number * SECOND))),
        )
        extraction = extractor.extract(text, (), BUDGET)
        assert len(extraction.candidates) == 1, (statement, extraction.notes)
        assert extraction.notes == (), statement
        found += extraction.candidates
    return found


def fitting(templates: dict[str, str], sentence: str) -> list[tuple[int, str, str, str]]:
    """(letters, relation, subject, value) for each template that the sentence fits, the longest first."""
    found = []
    for name, template in templates.items():
        regex = re.escape(template).replace(r"\[X\]", "(?P<subject>.+)").replace("__", "(?P<value>.+)")
        match = re.fullmatch(regex, sentence)
        if match and name not in SHARED:
            found.append((len(template), name, match["subject"], match.groupdict().get("value", "")))
    return sorted(found, reverse=True)


def test_every_statement_is_read_as_its_template_says(data: Data, candidates: list[Candidate]) -> None:
    read = 0
    for statement, candidate in zip(data.statements, candidates, strict=True):
        sentence = statement.split(". ", 1)[1].removesuffix(".")
        _, relation, _, _ = fitting(data.cloze, sentence)[0]
        assert isinstance(candidate.subject, ByName)
        assert isinstance(candidate.value, ByName)
        filled = data.cloze[relation].replace("[X]", candidate.subject.name).replace("__", candidate.value.name)
        assert (candidate.predicate, filled) == (relation, sentence)
        assert statement[candidate.span.start : candidate.span.end] == sentence
        assert candidate.holds == ()
        read += 1

    print(f"{read} of {len(data.statements)} statements read")
    assert read == 455


def test_the_newest_wins_and_the_questions_are_answered(
    data: Data, candidates: list[Candidate], services: Services
) -> None:
    scope = scope_of("statements")
    newest: dict[tuple[str, str], str] = {}
    items = []
    services.writer.put_schema(scope, "importer", pack_from_document(pack(data)))
    for number, candidate in enumerate(candidates):
        assert isinstance(candidate.subject, ByName)
        assert isinstance(candidate.value, ByName)
        newest[(candidate.subject.name, candidate.predicate)] = candidate.value.name
        said = Said(observed_at=format_instant(Instant(FIRST + number * SECOND)))
        items.append(
            Assert(subject=candidate.subject.name, predicate=candidate.predicate, value=candidate.value.name, said=said)
        )
    # the last said comes in first: the order of arrival must not count
    services.writer.write(scope, "importer", items[::-1])

    with services.store.read(scope) as reader:
        told = AsOf(valid_at=Instant(FIRST + DAY), known_at=reader.head.recorded_at)

        def value(subject: str, predicate: str) -> str:
            id = reader.entities_by_key([subject])[subject].id
            (fact,) = reader.state([(id, predicate)], told, certain=True, page=EVERYTHING)
            of = EntityId(fact.version.value.text)
            return reader.entities_by_id([of])[of].key or ""

        won = sum(value(*key) == expected for key, expected in newest.items())
        answered = 0
        for question, answers in data.questions:
            _, predicate, subject, _ = fitting(data.asked, question)[0]
            answered += value(subject, predicate) in answers

    print(f"newest wins on {won} of {len(newest)} keys; {answered} of {len(data.questions)} questions answered")
    assert won == len(newest)
    assert answered == len(data.questions) == 100
