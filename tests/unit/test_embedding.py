"""What becomes of texts and questions when an embedder is slow, away, or wrong."""

import threading
from collections.abc import Sequence

import numpy as np
import pytest

from graph.aside import AT_ONCE, Aside, Late
from graph.embedders import NoVector, Rows, checked
from graph.embedding import BACKOFF_SECONDS, QUESTION_SECONDS, TEXT_CHARS_MAX, PatientEmbedder, TextAlone, ask
from graph.searching import Model, Models
from ontology.errors import Incorrect, Unavailable
from tests.embedding import DIMENSIONS, HashingEmbedder

SERVING = Models(serving=Model(name="hashing", dimensions=DIMENSIONS), target=None)


class Time:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_rows_come_back_of_length_one() -> None:
    rows = checked([[3.0, 4.0], [0.0, -2.0]], "m", 2)
    assert rows.dtype == np.float32
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0.0, -1.0]]
    assert np.linalg.norm(checked([[1e38, 1e38]], "m", 1)) == pytest.approx(1)
    assert np.linalg.norm(checked([[1e-38, 0]], "m", 1)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([[1.0]], "1 rows for 2 texts"),
        ([], "0 rows for 2 texts"),
        ([[1.0, 0.0], [1.0]], "not numbers of one length"),
        ([["a"], ["b"]], "not numbers of one length"),
        ([[], []], "rows of 0 numbers"),
        ([[0.5] * 9_000] * 2, "rows of 9000 numbers"),
        (None, "0 rows for 2 texts"),
    ],
)
def test_what_is_no_row_for_each_text_is_refused(rows: object, told: str) -> None:
    with pytest.raises(Unavailable, match=told) as raised:
        checked(rows, "m", 2)
    assert raised.value.slug == "embedder-unavailable"


@pytest.mark.parametrize(
    ("row", "told"),
    [([float("nan"), 1.0], "not finite"), ([float("-inf"), 1.0], "not finite"), ([1e39, 0.0], "not finite"),
     ([None, 1.0], "not finite"), ([0.0, -0.0], "zeros alone")],
)  # fmt: skip
def test_what_is_no_vector_is_refused_with_the_name_of_its_model(row: list[float], told: str) -> None:
    with pytest.raises(NoVector, match=f"'m' gave .*{told}"):
        checked([[1.0, 2.0], row], "m", 2)


class Numb(HashingEmbedder):
    """Gives zeros for some texts, and for others numbers that are none."""

    def _row(self, text: str) -> Rows:
        row = super()._row(text)
        return row * np.float32(0) if "zero" in text else row * np.float32("nan") if "none" in text else row


def test_a_text_without_a_word_needs_no_vector_where_the_model_gives_none() -> None:
    class Mute(HashingEmbedder):
        def _row(self, text: str) -> Rows:
            return super()._row(text) * np.float32("\u2615" not in text)

    without, with_one, good = PatientEmbedder(Mute()).embed_each(["\u2615 \u2615 \u2615", "\u2615 at nine", "good"])
    assert without is not None
    assert not without.any()
    assert with_one is None
    assert good is not None


def test_a_text_without_a_vector_keeps_no_other_back_and_gets_no_zeros() -> None:
    rows = PatientEmbedder(Numb()).embed_each(["good", "zero", "also good", "none"])
    assert [row is None for row in rows] == [False, True, False, True]


def test_a_text_whose_beginning_has_a_vector_gets_that() -> None:
    text = "good " * 300 + "none"
    [row] = PatientEmbedder(Numb()).embed_each([text])
    assert row is not None
    assert row.tolist() == pytest.approx(HashingEmbedder().embed([text[:1_000]])[0].tolist())


def test_a_question_without_a_vector_is_asked_by_its_words_and_a_model_that_has_none_at_all_is_told() -> None:
    asked = ask(PatientEmbedder(Numb()), SERVING, "zero", 60)
    assert (asked.text_alone, asked.vector) == (TextAlone.EMBEDDER_AWAY, None)
    assert "no vector for the question" in asked.detail

    class Dumb(HashingEmbedder):
        def _row(self, text: str) -> Rows:
            return super()._row("")

    patient = PatientEmbedder(Dumb())
    with pytest.raises(Unavailable, match=r"refuses every text.*zeros alone"):
        patient.embed_each(["a", "b"])
    assert patient.resting


def test_one_that_failed_is_left_alone_for_longer_each_time_and_asked_again_then() -> None:
    time, hashing = Time(), HashingEmbedder()
    patient = PatientEmbedder(hashing, time)
    hashing.away = True
    for seconds in (BACKOFF_SECONDS, 2 * BACKOFF_SECONDS, 4 * BACKOFF_SECONDS):
        for _ in range(3):
            with pytest.raises(Unavailable, match="away"):
                patient.embed(["a"])
        time.seconds += seconds
        assert not patient.resting
    assert len(hashing.asked) == 3
    assert patient.fault() == "the embedder is away"

    hashing.away = False
    assert patient.embed(["a"]).shape == (1, DIMENSIONS)
    assert (patient.fault(), patient.resting) == (None, False)


def test_a_text_that_is_refused_gets_zeros_and_keeps_no_other_back() -> None:
    hashing = HashingEmbedder()
    hashing.refuses = "bad"
    rows = PatientEmbedder(hashing).embed_each(["good", "bad", "also good"])
    assert [row is not None and bool(row.any()) for row in rows] == [True, False, True]


def test_a_text_that_is_too_long_is_embedded_by_its_beginning() -> None:
    hashing = HashingEmbedder()
    patient = PatientEmbedder(hashing)
    patient.embed(["word " * 10_000])
    assert len(hashing.asked[-1][0]) == TEXT_CHARS_MAX

    hashing.chars_max = 300
    rows = patient.embed_each(["word " * 10_000, "short"])
    assert rows[0] is not None
    assert rows[0].tolist() == pytest.approx(hashing.embed([("word " * 10_000)[:250]])[0].tolist())


def test_an_embedder_that_refuses_everything_is_told_and_leaves_no_zeros() -> None:
    hashing = HashingEmbedder()
    hashing.refuses = ""
    patient = PatientEmbedder(hashing)
    with pytest.raises(Unavailable, match="refuses every text"):
        patient.embed_each(["a", "b"])
    assert patient.resting


def test_a_question_is_asked_once_and_remembered() -> None:
    hashing = HashingEmbedder()
    patient = PatientEmbedder(hashing)
    asked = [ask(patient, SERVING, "where does Mira live?", 60) for _ in range(3)]
    assert len(hashing.asked) == 1
    assert asked[0].vector is not None
    assert (asked[0].model, asked[0].text_alone, asked[0].detail) == ("hashing", None, "")
    assert asked[0].vector is asked[2].vector


def test_a_question_is_remembered_for_some_minutes_and_no_longer() -> None:
    hashing, time = HashingEmbedder(), Time()
    patient = PatientEmbedder(hashing, time)
    patient.question("where does Mira live?", 60)
    time.seconds = QUESTION_SECONDS - 1
    patient.question("where does Mira live?", 60)
    assert len(hashing.asked) == 1
    time.seconds = QUESTION_SECONDS
    assert not patient.resting
    assert not patient._questions, "whoever indexes lets go of it too"
    patient.question("where does Mira live?", 60)
    assert len(hashing.asked) == 2


def test_a_question_that_is_refused_is_asked_shorter_and_a_refusal_for_good_is_told() -> None:
    hashing = HashingEmbedder()
    hashing.chars_max, hashing.refuses = 300, "bad"
    patient = PatientEmbedder(hashing)
    assert ask(patient, SERVING, "word " * 1_000, 60).text_alone is None
    refused = ask(patient, SERVING, "bad", 60)
    assert (refused.text_alone, patient.resting) == (TextAlone.EMBEDDER_AWAY, False)
    assert "refuses the question" in refused.detail


def test_without_a_vector_the_answer_says_why() -> None:
    away, other = HashingEmbedder(), PatientEmbedder(HashingEmbedder("other"))
    away.away = True
    wrong = PatientEmbedder(HashingEmbedder(dimensions=8))
    none = Models(serving=None, target=None)
    asked = {
        TextAlone.NO_EMBEDDER: ask(None, SERVING, "q", 60),
        TextAlone.NO_VECTORS: ask(other, none, "q", 60),
        TextAlone.OTHER_MODEL: ask(other, SERVING, "q", 60),
        TextAlone.EMBEDDER_AWAY: ask(PatientEmbedder(away), SERVING, "q", 60),
    }
    assert {why: each.text_alone for why, each in asked.items()} == {why: why for why in TextAlone}
    assert all(each.vector is None and each.detail for each in asked.values())
    assert "vigencia reembed" in asked[TextAlone.OTHER_MODEL].detail
    assert "8 dimensions" in ask(wrong, SERVING, "q", 60).detail


def test_a_question_waits_only_so_long_and_is_known_the_next_time() -> None:
    going = threading.Event()

    class Slow(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Rows:
            assert going.wait(60)
            return super().embed(texts)

    patient = PatientEmbedder(Slow())
    first = ask(patient, SERVING, "q", 0.01)
    assert first.text_alone is TextAlone.EMBEDDER_AWAY
    assert "within 0.01 s" in first.detail
    going.set()
    assert ask(patient, SERVING, "q", 60).text_alone is None


def test_what_goes_on_aside_is_bounded_and_its_error_is_raised() -> None:
    aside, going = Aside("tests"), threading.Event()
    for _ in range(AT_ONCE):
        with pytest.raises(Late):
            aside.run(going.wait, 0)
    with pytest.raises(Late):
        aside.run(lambda: 1, 60)
    going.set()

    def fail() -> None:
        raise Incorrect("no")

    with pytest.raises(Incorrect):
        Aside("tests").run(fail, 60)
