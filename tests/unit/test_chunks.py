"""Is every word of an episode in one chunk, cut where a reader would cut it?"""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from graph.chunks import CHARS, chunks, stretches
from ontology.episodes import UNSIGNED, Kept, Turn, Verbatim
from ontology.ids import EpisodeId
from ontology.scope import scope_of

ID = EpisodeId("epi_abcdefgh_1_0")


def verbatim(body: str | tuple[Turn, ...]) -> Verbatim:
    return Verbatim(
        kept=Kept(episode=ID, scope=scope_of("acme"), content=b""), body=body, media_type="text/plain", session=None,
        source_uri=None, me=None, said_at=None, vouched=UNSIGNED,
    )  # fmt: skip


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in stretches(text)]


def test_a_short_text_is_one_chunk_without_the_blanks_around_it() -> None:
    [(chunk, text)] = chunks(ID, verbatim("  Mira lives in Paris.\n"))
    assert (chunk.number, chunk.turn, chunk.start, chunk.end, text) == (0, None, 2, 22, "Mira lives in Paris.")


def test_turns_are_chunks_of_their_own_with_their_speakers_and_blank_ones_are_none() -> None:
    said = (("Mira", "I moved to Paris."), ("agent", " "), ("agent", "Noted. " * 300))
    body = tuple(Turn(speaker=speaker, text=text, at=None) for speaker, text in said)
    found = chunks(ID, verbatim(body))

    assert found[0][1] == "Mira: I moved to Paris."
    assert [chunk.number for chunk, _ in found] == list(range(len(found)))
    assert [chunk.turn for chunk, _ in found] == [0] + [2] * (len(found) - 1)
    assert len(found) > 3
    for chunk, text in found:
        assert chunk.turn is not None
        turn = body[chunk.turn]
        assert text == f"{turn.speaker}: {turn.text[chunk.start : chunk.end]}"


def test_a_paragraph_is_a_better_end_than_a_sentence_and_a_sentence_than_a_word() -> None:
    sentence = "A word and another one. "
    assert cut(sentence * 30 + "\n\n" + sentence * 30)[0] == (sentence * 30).strip()
    assert all(text.endswith("one.") for text in cut(sentence * 100))
    assert all(text.strip("w") == "" or set(text.split()) == {"word"} for text in cut("word " * 500))


def test_a_text_without_spaces_is_cut_at_its_own_marks() -> None:
    assert all(text.endswith("。") for text in cut("米拉住在巴黎。" * 300))


def test_what_is_seen_as_one_character_is_not_cut() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    for one in (family, "e\u0301", "\U0001f44d\U0001f3fd", "\U0001f1e6\U0001f1f9"):
        for shift in range(6):
            text = "x" * shift + one * CHARS
            assert all(part.removeprefix("x" * shift).replace(one, "") == "" for part in cut(text)), repr(one)


def test_a_pile_of_marks_without_an_end_is_cut_nevertheless() -> None:
    text = "e" + "\u0301" * 5_000
    assert "".join(cut(text)) == text


@given(st.text(alphabet=st.sampled_from("ab .\n\n!。\u0301\u200d"), max_size=5_000))
def test_every_word_is_in_one_stretch_and_no_stretch_is_too_long(text: str) -> None:
    found = list(stretches(text))
    assert all(0 < end - start <= CHARS for start, end in found)
    assert all(before[1] <= after[0] for before, after in pairwise(found))
    between = zip([0, *(end for _, end in found)], [*(start for start, _ in found), len(text)], strict=True)
    assert "".join(text[start:end] for start, end in between).strip() == ""
