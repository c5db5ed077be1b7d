import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidation.extraction.sentences import sentences


def cut(text: str) -> list[str]:
    return [text[each.start : each.end] for each in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three; four", ["One", "Two", "Three", "four"]),
        ("0. Thomas Kyd was born.\n12) He died.\n- a\n* b\n> c", ["Thomas Kyd was born", "He died", "a", "b", "c"]),
        ("Pedro worked in the city of Washington, D.C..", ["Pedro worked in the city of Washington, D.C."]),
        ("AppleScript was developed by Apple Inc..", ["AppleScript was developed by Apple Inc."]),
        ("The head of Apple Inc. is Tim Cook.", ["The head of Apple Inc. is Tim Cook"]),
        ("She works at Apple Inc. He does not.", ["She works at Apple Inc.", "He does not"]),
        ("I live in Washington, D.C. She does too.", ["I live in Washington, D.C.", "She does too"]),
        ("Ursula K. Le Guin wrote it.", ["Ursula K. Le Guin wrote it"]),
        ("The author of Mr. Robot is Sam.", ["The author of Mr. Robot is Sam"]),
        ("Panic! at the Disco played.", ["Panic! at the Disco played"]),
        ("i live in paris. i work at acme", ["i live in paris", "i work at acme"]),
        ("a\r\nb\u2028c\x0bd", ["a", "b", "c", "d"]),
        ('"Mira is here." Then', ['"Mira is here', '" Then']),
        ("", []),
        (" \n\t", []),
        ("...", [".."]),
    ],
)
def test_a_text_is_cut_into_sentences(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


def test_a_line_that_is_wrapped_goes_on() -> None:
    long = "Mira, who had long wanted to see the sea every day, has moved to New"

    assert cut(f"{long}\nYork last year. Ok") == [f"{long}\nYork last year", "Ok"]
    assert cut("Mira has moved to New\nYork") == ["Mira has moved to New", "York"]


@pytest.mark.parametrize("text", ["Ja !", "Ja .", "Ja ?!", "0 !", "Ja ; Nein"])
def test_a_blank_before_a_mark_is_no_part_of_the_sentence(text: str) -> None:
    assert cut(text)[0] == text.split(maxsplit=1)[0]


def test_a_question_is_known_as_one() -> None:
    assert [each.asks for each in sentences("Is it? It is! Really?! So.")] == [True, False, True, False]


@given(st.text(max_size=300) | st.text(alphabet="aA. !?;\n0.)-*Dr", max_size=300))
def test_sentences_are_in_order_apart_and_not_blank(text: str) -> None:
    before = 0
    for each in sentences(text):
        assert before <= each.start < each.end <= len(text)
        found = text[each.start : each.end]
        assert found == found.strip()
        before = each.end


@pytest.mark.parametrize(
    "unit", [".", "!", "? ", "a. ", "1. ", "\n", "- ", "Mr. ", "... ", '." ', ";", "x" * 59 + "\n"]
)
def test_the_work_grows_with_the_text_and_no_faster(unit: str) -> None:
    def steps(times: int) -> int:
        return count_calls(lambda: cut(unit * times))

    small = steps(1_000)
    assert steps(4_000) <= 4 * small + 100


def count_calls(run: object) -> int:
    """How many functions are called, the ones in C included."""
    import sys

    count = 0

    def profile(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    assert callable(run)
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count
