"""What the patterns of a schema read in a text, and what they leave alone."""

import sys
from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidation.extraction.base import (
    BUDGET,
    Budget,
    ByKey,
    ByName,
    Candidate,
    Code,
    Extraction,
    Hold,
    Known,
    Me,
    Operation,
    Trust,
    Turn,
    Verdict,
    observed,
    occurs,
)
from consolidation.extraction.rules import SENTENCE_CHARS_MAX, RulesExtractor
from consolidation.items import ABSENT
from ontology.ids import FactId
from tests.extraction.world import BOGOTA, DEMO, MIRA, RULES, episode, read, schema


def one(extraction: Extraction) -> Candidate:
    (candidate,) = extraction.candidates
    return candidate


def codes(extraction: Extraction) -> list[Code]:
    return [note.code for note in extraction.notes]


def test_the_deadline_of_the_story_is_read_as_a_change_from_when_it_was_said() -> None:
    extraction = read("The passport deadline is now 2026-06-30.")

    candidate = one(extraction)
    assert (candidate.subject, candidate.predicate, candidate.value) == (MIRA, "passport_deadline", "2026-06-30")
    assert (candidate.operation, candidate.verdict) == (Operation.ASSERT, Verdict.CHANGE)
    assert (candidate.stated.valid_from, candidate.stated.valid_to) == ("2024-11-18T23:40:00-05:00", None)
    assert candidate.span.quote == "The passport deadline is now 2026-06-30"
    assert candidate.extractor.trust is Trust.OBSERVED
    assert (candidate.holds, candidate.unmapped, extraction.notes) == ((), False, ())


@pytest.mark.parametrize(
    ("sentence", "predicate", "value", "begins", "ends"),
    [
        ("I moved to Lisbon last year.", "lives_in", "Lisbon", "2023", None),
        ("I MOVED  TO\tLisbon in March 2020", "lives_in", "Lisbon", "2020-03", None),
        ("I have lived in New York since 2020-03-05", "lives_in", "New York", "2020-03-05", None),
        ("I visited Blade Runner 2049 in March", "visited", "Blade Runner 2049", "2024-03", None),
        ("I visited Bay 301", "visited", "Bay 301", None, None),
        ("I visited Bay 301 yesterday!", "visited", "Bay 301", "2024-11-17", None),
        ("I work at Washington, D.C..", "works_at", "Washington, D.C.", None, None),
        ("I work for “Acme”.", "works_at", "Acme", None, None),
        ("I prefer tea", "prefers", "tea", None, None),
        ("I prefer concise answers", "prefers_answers", "concise", None, None),
        ("My monthly rent is 1,200.50 EUR.", "monthly_rent", "1200.50 EUR", None, None),
        ("My monthly rent is 900", "monthly_rent", "900", None, None),
        ("My passport deadline is in two weeks.", "passport_deadline", "2024-12-02", None, None),
        ("My passport deadline is 30 June 2026", "passport_deadline", "2026-06-30", None, None),
    ],
)
def test_a_sentence_gives_value_and_dates(
    sentence: str, predicate: str, value: str, begins: str | None, ends: str | None
) -> None:
    candidate = one(read(sentence))

    found = candidate.value.name if isinstance(candidate.value, ByName) else candidate.value
    assert (candidate.subject, candidate.predicate, found) == (MIRA, predicate, value)
    assert (candidate.stated.valid_from, candidate.stated.valid_to) == (begins, ends)
    assert candidate.verdict is Verdict.NEW


def test_a_past_period_has_both_ends() -> None:
    candidate = one(read("Mira lived in Rome from 2010 until March 2014."))

    assert candidate.subject == ByName(name="Mira")
    assert (candidate.stated.valid_from, candidate.stated.valid_to) == ("2010", "2014-03")
    assert candidate.stated.zone == "America/Bogota"


@pytest.mark.parametrize(
    ("sentence", "operation", "verdict", "begins"),
    [
        ("Mira no longer lives in Paris.", Operation.RETRACT, Verdict.CHANGE, BOGOTA.text),
        ("Mira no longer lives in Paris since 2020.", Operation.RETRACT, Verdict.CHANGE, "2020"),
        ("Mira now lives in Paris", Operation.ASSERT, Verdict.CHANGE, BOGOTA.text),
        ("Mira has moved to Paris on 2020-03-05", Operation.ASSERT, Verdict.CHANGE, "2020-03-05"),
        ("Actually, Mira lives in Paris", Operation.REPLACE, Verdict.CORRECTION, None),
        ("Mira lives in Paris", Operation.ASSERT, Verdict.NEW, None),
    ],
)
def test_words_say_whether_it_is_a_change_a_correction_or_an_end(
    sentence: str, operation: Operation, verdict: Verdict, begins: str | None
) -> None:
    candidate = one(read(sentence))

    assert (candidate.operation, candidate.verdict) == (operation, verdict)
    assert (candidate.value, candidate.stated.valid_from) == (ByName(name="Paris"), begins)


def test_a_retraction_may_be_of_every_value_and_a_pattern_may_tell_the_value() -> None:
    under = schema(
        "predicates: {status: {patterns: [{text: '{subject} is retired [{from}]', value: retired}, "
        "{text: '{subject} has no status any more', means: retract}]}}"
    )

    assert (one(read("Tank 6 is retired since 2020", under)).value, one(read("Tank 6 is retired", under)).value) == (
        "retired",
        "retired",
    )
    assert one(read("Tank 6 has no status any more", under)).value is ABSENT


def test_inspections_near_midnight_fall_on_the_local_day() -> None:
    under = schema(
        "predicates:\n"
        "  inspected: {cardinality: event, datatype: text, patterns: "
        "[{text: '{subject} took place {from}', value: took place}, {text: '{subject} is {from}', value: planned}]}\n"
    )

    extraction = read("The inspection took place yesterday; the next inspection is in two weeks.", under)

    assert [(c.subject, c.stated.valid_from, c.stated.zone) for c in extraction.candidates] == [
        (ByName(name="The inspection"), "2024-11-17", "America/Bogota"),
        (ByName(name="the next inspection"), "2024-12-02", "America/Bogota"),
    ]
    untold = read("The inspection took place yesterday; the next inspection is in two weeks.", under, at=None)
    assert [c.stated.valid_from for c in untold.candidates] == [None, None]
    assert codes(untold) == [Code.NO_OBSERVED_AT, Code.UNRESOLVED_DATE, Code.UNRESOLVED_DATE]


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("I think Mira lives in Paris", Code.UNCLEAR),
        ("If Mira lives in Paris", Code.UNCLEAR),
        ("Mira said Ben lives in Paris", Code.UNCLEAR),
        ("Mira has moved to Paris, works at Acme", Code.UNCLEAR),
        ("Mira has moved to Paris and prefers tea", Code.UNCLEAR),
        ("Mira lives in Paris and prefers tea", Code.AMBIGUOUS),
        ("Mira and I moved to Paris", Code.UNCLEAR),
        ("Mira moved to Paris yesterday and Rome", Code.UNCLEAR),
        ("I live in Paris?", Code.UNCLEAR),
        ("He lives in Paris", Code.UNRESOLVED_REFERENCE),
        ("My sister lives in Paris", Code.UNRESOLVED_REFERENCE),
        ("Mira lives in it", Code.UNRESOLVED_REFERENCE),
        ("My monthly rent is 950 USD", Code.REFUSED_SHAPE),
        ("My monthly rent is -5", Code.REFUSED_SHAPE),
        ("My monthly rent is 1.200,50", Code.REFUSED_SHAPE),
        ("My passport deadline is 30 June", Code.UNRESOLVED_DATE),
        ("My passport deadline is 03/04/2026", Code.UNRESOLVED_DATE),
        ("Mira lives in " + "x" * 501, Code.REFUSED_SHAPE),
        ("Mira lives in a\x07b", Code.REFUSED_SHAPE),
        ("Mira lives in a" + " b" * SENTENCE_CHARS_MAX, Code.DROPPED),
    ],
)
def test_what_is_not_said_plainly_is_told_and_not_read(sentence: str, code: Code) -> None:
    extraction = read(sentence)

    assert (extraction.candidates, codes(extraction)) == ((), [code])
    assert extraction.notes[0].span is not None


@pytest.mark.parametrize(
    "sentence", ["", "Hello.", "Does Mira live in Paris?", "lives in", "Mira lives in", "Mira would live in Paris"]
)
def test_what_no_pattern_fits_is_passed_over(sentence: str) -> None:
    extraction = read(sentence)

    assert (extraction.candidates, extraction.notes) == ((), ())


@pytest.mark.parametrize(
    "sentence",
    [
        "The Man Who Lives In Trees lives in Paris",
        "His Dark Materials lives in Paris",
        "Rhythm and Blues, Duke of Works lives in Paris",
        "Rand al'Thor lives in Paris",
        "St. Mary K. O'Neil Jr. lives in Paris",
    ],
)
def test_names_that_look_like_words_of_a_pattern_are_names(sentence: str) -> None:
    assert one(read(sentence)).subject == ByName(name=sentence.removesuffix(" lives in Paris"))


def test_the_pattern_that_says_most_reads_alone() -> None:
    under = schema(
        "predicates: {is_in: {patterns: ['{subject} is located in {value}']}, "
        "continent: {patterns: ['{subject} is located in the continent of {value}']}, "
        "any: {patterns: ['The {subject} is {value}']}}"
    )

    assert [c.predicate for c in read("The Nile is located in the continent of Africa.", under).candidates] == [
        "continent"
    ]


def test_two_patterns_that_say_as_much_and_differ_read_nothing() -> None:
    under = schema(
        "predicates: {p: {patterns: ['{subject} hires {value}']}, q: {patterns: ['{value} hired {subject}']}}"
    )

    extraction = read("Ada hires Ben hired Cid", under)
    assert extraction.candidates == ()
    assert len(read("Ada hires Ben", under).candidates) == 1

    rivals = schema(
        "predicates: {p: {patterns: ['{subject} pays {value}']}, q: {patterns: ['{value} gets {subject}']}}"
    )
    extraction = read("Ada pays Ben gets Cid", rivals)
    assert (extraction.candidates, codes(extraction)) == ((), [Code.AMBIGUOUS])
    assert "{subject} pays {value}" in extraction.notes[0].detail


def test_a_script_without_blanks_is_read() -> None:
    under = schema("predicates: {residence: {patterns: ['{subject}住在{value}']}}")

    candidate = one(read("米拉住在巴黎", under))
    assert (candidate.subject, candidate.value) == (ByName(name="米拉"), "巴黎")


def test_an_apostrophe_may_be_curly() -> None:
    assert one(read("Mira’s monthly rent is 5")).subject == ByName(name="Mira")


def test_a_turn_has_its_own_speaker_time_and_place() -> None:
    turns = (
        Turn(speaker="mira", text="Hello. I live in Paris.", at=None),
        Turn(speaker="Ben", text="I moved to Rome yesterday.", at=observed("2020-03-01T12:00:00Z", "UTC")),
        Turn(speaker=" ", text="I live in Oslo.", at=None),
    )

    first, second, third = read(turns).candidates

    assert (first.subject, first.span.turn, first.span.start) == (MIRA, 0, 7)
    assert (second.subject, second.stated.valid_from, second.stated.zone) == (ByName(name="Ben"), "2020-02-29", "UTC")
    assert (third.subject, third.holds) == (Me(), (Hold.SPEAKER_UNKNOWN,))


def test_who_says_i_must_be_told() -> None:
    extraction = read("I live in Paris.", me=None)

    assert (one(extraction).subject, one(extraction).holds) == (Me(), (Hold.SPEAKER_UNKNOWN,))
    assert codes(extraction) == [Code.UNRESOLVED_REFERENCE]


def test_without_a_time_nothing_is_taken_from_the_clock() -> None:
    ended, changed, plain = (
        read(sentence, at=None)
        for sentence in ("Mira no longer lives in Rome", "The passport deadline is now 2026-06-30", "I live in Rome")
    )

    assert (one(ended).holds, one(ended).stated.valid_from) == ((Hold.UNDATED,), None)
    assert (one(changed).holds, one(changed).stated.valid_from) == ((Hold.UNDATED,), None)
    assert (one(plain).holds, one(plain).stated.valid_from) == ((), None)
    assert codes(ended) == codes(changed) == codes(plain) == [Code.NO_OBSERVED_AT]


def test_a_date_that_cannot_be_read_is_not_replaced_by_now() -> None:
    told = read("Mira now lives in Rome since 03/04/2020")
    joined = read("Mira joined Acme on 03/04/2020")

    assert (one(told).stated.valid_from, one(told).holds) == (None, (Hold.UNDATED,))
    assert (one(joined).stated.valid_from, one(joined).holds) == (None, ())
    assert codes(told) == codes(joined) == [Code.UNRESOLVED_DATE]


def known(value: str, subject: ByKey | ByName = MIRA, id: str = "fct_abcdefgh_1_0") -> Known:
    return Known(id=FactId(id), subject=subject, predicate="lives_in", value=value)


@pytest.mark.parametrize(
    ("sentence", "facts", "compares_to", "verdict"),
    [
        ("I live in Paris", (known("paris"),), "fct_abcdefgh_1_0", Verdict.SAME),
        ("I live in Paris", (known("Rome"),), "fct_abcdefgh_1_0", Verdict.CONFLICT),
        ("I moved to Paris in 2020", (known("Rome"),), "fct_abcdefgh_1_0", Verdict.CHANGE),
        ("I now live in Paris", (known("Rome"),), "fct_abcdefgh_1_0", Verdict.CHANGE),
        ("Actually, I live in Paris", (known("Rome"),), "fct_abcdefgh_1_0", Verdict.CORRECTION),
        ("I live in Paris", (known("Rome", ByName(name="Mira")),), None, Verdict.NEW),
        ("I live in Paris", (known("Rome"), known("Oslo", id="fct_abcdefgh_2_0")), None, Verdict.NEW),
        ("I visited Paris", (known("Rome"),), None, Verdict.NEW),
    ],
)
def test_a_candidate_names_the_fact_that_it_compares_to(
    sentence: str, facts: tuple[Known, ...], compares_to: str | None, verdict: Verdict
) -> None:
    candidate = one(read(sentence, known=facts))

    assert (candidate.compares_to, candidate.verdict) == (compares_to, verdict)


def test_budgets_cut_and_tell() -> None:
    text = "I live in Paris. I live in Rome. I live in Oslo."
    extractor = RULES

    few = extractor.extract(episode(text), (), Budget(characters_max=1_000, candidates_max=2, seconds_max=60))
    short = extractor.extract(episode(text), (), Budget(characters_max=16, candidates_max=9, seconds_max=60))
    seconds = count()
    slow = RulesExtractor(DEMO, ticks=lambda: float(next(seconds))).extract(
        episode(text), (), Budget(characters_max=1_000, candidates_max=9, seconds_max=2)
    )

    assert [len(each.candidates) for each in (few, short, slow)] == [2, 1, 2]
    assert [codes(each) for each in (few, short, slow)] == [[Code.DROPPED]] * 3


def calls(run: Callable[[], object]) -> int:
    """How many functions are called, the ones in C included."""
    found = 0

    def profile(frame: object, event: str, arg: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    "unit",
    [
        "a lives in ",
        "I live in Paris. ",
        "lives in lives in. ",
        "in March 2020 ",
        "I visited 1 2 3 ",
        "'s monthly rent is 1",
        "((((",
        "\n",
        "....",
        "Mr. ",
        "I moved to a from from from ",
        "\u202e\u200f🙂 ",
        "\x00",
        "\ud800",
    ],
)
def test_hostile_text_costs_no_more_than_its_length(unit: str) -> None:
    extractor = RULES

    def work(times: int) -> int:
        return calls(lambda: extractor.extract(episode(unit * times), (), BUDGET))

    work(1)
    small = work(1_000)
    assert work(4_000) <= 4 * small + 1_000


@pytest.mark.parametrize("unit", ["a lives in ", "I live in Paris. ", "in March ", "🙂", "\x00", "x"])
def test_a_megabyte_is_read(unit: str) -> None:
    extraction = RULES.extract(episode(unit * (1_000_000 // len(unit))), (), BUDGET)

    assert len(extraction.candidates) <= BUDGET.candidates_max


PIECES = """
I Mira He My Paris lives live in moved to no longer now actually, the passport deadline is 2026-06-30 last year since
March work at Acme and , . ; ? ! 's monthly rent 5 EUR prefer answers " “ ” \u202e \u200b 🙂 \x00 \ud800
"""
rows = st.lists(st.sampled_from([*PIECES.split(), "\n", "\x07"]), max_size=14).map(" ".join)


@given(st.text(max_size=200) | rows, st.booleans(), st.sampled_from([None, BOGOTA]))
def test_whatever_is_read_nothing_breaks_and_every_candidate_quotes(text: str, talked: bool, at: object) -> None:
    when = BOGOTA if at is not None else None
    given_text = episode((Turn(speaker="ana", text=text, at=None),) * 2 if talked else text, at=when)
    extractor = RULES

    extraction = extractor.extract(given_text, (), BUDGET)

    assert extraction == extractor.extract(given_text, (), BUDGET)
    places = [(c.span.turn or 0, c.span.start) for c in extraction.candidates]
    assert places == sorted(places)
    for candidate in extraction.candidates:
        assert occurs(given_text, candidate.span)
        assert Hold.QUOTE_MISSING not in candidate.holds
        assert candidate.predicate in DEMO.predicates
