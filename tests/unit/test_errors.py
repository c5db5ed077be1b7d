import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology import errors
from ontology.errors import (
    PROBLEMS,
    Busy,
    Conflict,
    Forbidden,
    Incorrect,
    NaiveInstant,
    Refused,
    Unauthenticated,
    VersionChanged,
    VigenciaError,
    Violation,
    pointer,
    shown,
)
from ontology.values import ValueType

EVERY_ERROR = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, VigenciaError)]


@pytest.mark.parametrize("error", EVERY_ERROR)
def test_every_error_is_a_described_problem(error: type[VigenciaError]) -> None:
    raised = error("it broke")

    assert raised.problem is PROBLEMS[raised.slug]
    assert (raised.message, raised.remedy, raised.violations, dict(raised.members)) == ("it broke", "", (), {})


def test_every_problem_says_what_it_means_and_what_to_do() -> None:
    for slug, problem in PROBLEMS.items():
        assert slug == slug.lower().strip("-")
        assert all((problem.title, problem.meaning, problem.cause, problem.fix)), slug


def test_five_problems_are_variants_of_an_error_and_all_others_have_their_own() -> None:
    variants = set(PROBLEMS) - {each.default_slug for each in EVERY_ERROR}

    assert variants == {
        "idempotency-in-flight", "recorded-at-not-settable", "issuer-unavailable", "extractor-unavailable",
        "embedder-unavailable",
    }  # fmt: skip


def test_a_slug_that_nobody_described_is_a_defect() -> None:
    with pytest.raises(ValueError, match="no-such-thing"):
        Incorrect("it broke", slug="no-such-thing")


def test_categories_hold_their_named_errors() -> None:
    assert issubclass(NaiveInstant, Incorrect)
    assert issubclass(Refused, Incorrect)
    assert issubclass(VersionChanged, Conflict)
    assert issubclass(Unauthenticated, Forbidden)


def test_only_busy_asks_to_come_back_by_itself() -> None:
    assert Busy("locked").retry_after == 1
    assert Busy("locked", retry_after=7).retry_after == 7
    assert Incorrect("wrong").retry_after is None


def test_the_remedy_follows_the_message() -> None:
    assert str(Incorrect("no such place", remedy="name another")) == "no such place; name another"
    assert str(Incorrect("no such place")) == "no such place"


def test_an_error_survives_the_way_between_processes() -> None:
    violation = Violation(pointer="/items/3", code="empty_interval", detail="it is empty")
    error = Refused("no", slug="recorded-at-not-settable", violations=[violation], members={"a": 1}, retry_after=3)

    copied = pickle.loads(pickle.dumps(error))

    assert type(copied) is Refused
    assert vars(copied) == vars(error)
    assert str(copied) == str(error)


def test_an_error_seen_from_further_out_points_further() -> None:
    inner = NaiveInstant("naive", violations=[Violation(pointer="/value", code="naive_timestamp", detail="no offset")])

    outer = inner.under("/items/3")

    assert type(outer) is NaiveInstant
    assert outer.violations == (Violation(pointer="/items/3/value", code="naive_timestamp", detail="no offset"),)
    assert inner.violations[0].pointer == "/value"


def test_a_pointer_escapes_what_rfc_6901_says() -> None:
    assert pointer() == ""
    assert pointer("items", 3, "a/b", "m~n", "") == "/items/3/a~1b/m~0n/"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Paris", "'Paris'"),
        (5, "5"),
        (True, "True"),
        (None, "None"),
        ("\x00\ud800", r"'\x00\ud800'"),
        ({"a": [1, 2]}, "{'a': [1, 2]}"),
        (ValueType.DATE, "'date'"),
        (10**5000, "<an integer of 16610 bits>"),
        ([10**5000], "[<an integer of 16610 bits>]"),
    ],
    ids=shown,
)
def test_shown_is_a_short_repr(value: object, text: str) -> None:
    assert shown(value) == text


def test_shown_cuts_at_the_limit() -> None:
    assert shown("a" * 78) == f"'{'a' * 78}'"
    assert len(shown("a" * 79)) == 80
    assert shown("abcdef", limit=4) == "'ab…"


def test_shown_of_a_huge_value_is_short_and_quick() -> None:
    nested: object = "a" * 1_000_000
    for _ in range(100_000):
        nested = [nested]
    started = time.perf_counter()

    texts = [shown(value) for value in ("a" * 1_000_000, ["a" * 1000] * 1000, {"k" * 1000: "v" * 1000}, nested)]

    assert all(len(text) <= 80 for text in texts)
    assert time.perf_counter() - started < 1


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_shown_never_exceeds_its_limit(value: object) -> None:
    assert 1 <= len(shown(value)) <= 80
