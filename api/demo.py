"""The demonstration: Mira's passport deadline, told twice, once as a change and once as a correction.

It is imported as recorded in June 2026, so that what was believed on 2 June about 10 June can be asked at any time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from api.wiring import Services
from consolidation.items import Assert, Item, Replace, Said
from ontology.errors import Conflict, shown
from ontology.instants import parse_instant
from ontology.packs import builtin_pack
from ontology.scope import Scope

IMPORTER: Final = "importer"
MIRA: Final = "mira"
CORRECTED: Final = "mira-corrected"
DEADLINE: Final = "passport_deadline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """What was recorded in one transaction."""

    recorded_at: str
    items: Sequence[Item]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that the story answers."""

    words: str
    subject: str
    valid_at: str | None
    known_at: str | None


def _told(subject: str, predicate: str, value: object, valid_from: str, observed_at: str, episode: str) -> Assert:
    said = Said(valid_from=valid_from, observed_at=observed_at, source="mira", episode=episode)
    return Assert(subject=subject, predicate=predicate, value=value, said=said)


def _known(subject: str, predicate: str, value: object, valid_from: str = "2026-01-01") -> Assert:
    said = Said(valid_from=valid_from, source="registry")
    return Assert(subject=subject, predicate=predicate, value=value, said=said)


_FIRST: Final = "2026-06-01T09:00:00Z"
_SECOND: Final = "2026-06-03T10:00:00Z"

STORY: Final = (
    Chapter(
        recorded_at="2026-06-01T08:00:00Z",
        items=(
            _known(MIRA, "name", "Mira Duarte"),
            _known(MIRA, "type", "Person"),
            _known(CORRECTED, "type", "Person"),
            _known("jonas", "name", "Jonas Vik"),
            _known("jonas", "type", "Person"),
            _known("lisbon", "name", "Lisbon"),
            _known("lisbon", "type", "Place"),
            _known("oslo", "name", "Oslo"),
            _known("oslo", "type", "Place"),
            _known("fjordwind", "name", "Fjordwind"),
            _known("fjordwind", "type", "Organization"),
            _known("fjordwind", "located_in", "oslo"),
            _known(MIRA, "lives_in", "lisbon", "2020-01-01"),
            _known(MIRA, "lives_in", "oslo", "2021-03-01"),
            _known(MIRA, "lives_in", "lisbon", "2023-06-01"),
            _known(MIRA, "works_at", "fjordwind", "2021-03-01"),
            _known("jonas", "lives_in", "oslo", "2019"),
            _known("jonas", "works_at", "fjordwind", "2024-02-01"),
        ),
    ),
    Chapter(
        recorded_at=_FIRST,
        items=(
            _told(MIRA, "prefers_answers", "concise", "2026-06-01", _FIRST, "epi_mira_1"),
            _told(MIRA, DEADLINE, "2026-07-15", "2026-06-01", _FIRST, "epi_mira_1"),
            _told(CORRECTED, DEADLINE, "2026-07-15", "2026-06-01", _FIRST, "epi_mira_corrected_1"),
        ),
    ),
    Chapter(
        recorded_at=_SECOND,
        items=(
            _told(MIRA, DEADLINE, "2026-06-30", _SECOND, _SECOND, "epi_mira_2"),
            Replace(
                subject=CORRECTED,
                predicate=DEADLINE,
                old="2026-07-15",
                at="2026-06-02",
                value="2026-06-30",
                said=Said(observed_at=_SECOND, source="mira", episode="epi_mira_corrected_2"),
                reason="the date was misread",
            ),
        ),
    ),
)

BEFORE_THE_STORY: Final = "2026-06-01T07:00:00Z"
"""When its vocabulary was put in place."""

QUESTIONS: Final = (
    Question(words="When is Mira's passport deadline?", subject=MIRA, valid_at=None, known_at=None),
    Question(words="When was it on 2 June?", subject=MIRA, valid_at="2026-06-02", known_at=None),
    Question(
        words="What did we believe on 2 June about 10 June?",
        subject=MIRA,
        valid_at="2026-06-10",
        known_at="2026-06-02",
    ),
    Question(
        words="And where the second message was a correction: when was it on 2 June?",
        subject=CORRECTED,
        valid_at="2026-06-02",
        known_at=None,
    ),
    Question(
        words="What did we believe of that on 2 June itself?",
        subject=CORRECTED,
        valid_at="2026-06-02",
        known_at="2026-06-02",
    ),
)


def is_empty(services: Services, scope: Scope) -> bool:
    """Whether nothing was ever recorded for the tenant."""
    with services.store.read(scope) as reader:
        return reader.head.position == 0


def seed(services: Services, scope: Scope) -> bool:
    """Record the story, if the tenant is empty; gives whether it was.

    Raises `Incorrect` where the clock of this machine is before June 2026.
    """
    if not is_empty(services, scope):
        return False
    services.writer.put_schema(scope, IMPORTER, builtin_pack("demo"), recorded_at=parse_instant(BEFORE_THE_STORY))
    for chapter in STORY:
        services.writer.write(scope, IMPORTER, chapter.items, recorded_at=parse_instant(chapter.recorded_at))
    return True


def seed_or_find(services: Services, scope: Scope) -> None:
    """Record the story; raises `Conflict` where the tenant holds something else."""
    if seed(services, scope):
        return
    with services.store.read(scope) as reader:
        if not reader.entities_by_key([MIRA, CORRECTED]).keys() >= {MIRA, CORRECTED}:
            raise Conflict(
                f"the tenant {shown(scope.tenant)} holds something else than the story",
                remedy="give an empty one: `vigencia demo --tenant demo`, or another --store",
            )
