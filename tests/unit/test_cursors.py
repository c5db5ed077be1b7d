import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.cursors import Cursor, filter_hash, next_link, read_cursor, write_cursor
from ontology.errors import CursorMismatch
from ontology.facts import AsOf
from ontology.instants import OPEN_END, OPEN_START, Instant

INSTANTS = st.integers(OPEN_START, OPEN_END).map(Instant)
ORDER_KEY = (int, int, int)
QUERY = filter_hash("GET", "/v1/state", "mira")


@given(valid_at=INSTANTS, known_at=INSTANTS, after=st.tuples(INSTANTS, INSTANTS, st.integers(0, 10_000)))
def test_a_cursor_comes_back_as_it_was(valid_at: Instant, known_at: Instant, after: tuple[int, int, int]) -> None:
    cursor = Cursor(after=after, as_of=AsOf(valid_at=valid_at, known_at=known_at), served_at=valid_at)

    text = write_cursor(cursor, QUERY)

    assert read_cursor(text, QUERY, ORDER_KEY) == cursor
    assert text.isascii()
    assert not set(text) & set("+/=&?")


def cursor(*after: int | str) -> str:
    return write_cursor(
        Cursor(after=after, as_of=AsOf(valid_at=Instant(1), known_at=Instant(2)), served_at=Instant(3)), QUERY
    )


def test_a_cursor_of_another_query_is_refused() -> None:
    with pytest.raises(CursorMismatch, match="another query"):
        read_cursor(cursor(1, 2, 3), filter_hash("GET", "/v1/state", "tom"), ORDER_KEY)


@pytest.mark.parametrize("after", [(), (1,), (1, 2), (1, 2, "3"), (1, 2, 3, 4), (1, 2, True)])
def test_an_order_key_of_another_shape_is_refused(after: tuple[int | str, ...]) -> None:
    with pytest.raises(CursorMismatch, match="altered"):
        read_cursor(cursor(*after), QUERY, ORDER_KEY)


@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
def test_any_text_is_a_cursor_or_refused(text: str) -> None:
    with pytest.raises(CursorMismatch) as refused:
        read_cursor(text, QUERY, ORDER_KEY)

    assert [v.pointer for v in refused.value.violations] == ["/cursor"]


def test_a_cursor_that_is_too_long_is_refused_unread() -> None:
    with pytest.raises(CursorMismatch):
        read_cursor("W" * 1_000_000, QUERY, ORDER_KEY)


def test_queries_that_differ_anywhere_have_other_hashes() -> None:
    queries = [("a", "b"), ("ab",), ("a", "b", None), ("b", "a"), ("a", ("b",)), ("a", "\ud800")]

    assert len({filter_hash(*query) for query in queries}) == len(queries)


def test_the_next_page_is_the_same_query_with_the_cursor() -> None:
    link = next_link("/v1/state", {"subject": "mira & tom", "cursor": "old"}, "new")

    assert link == '</v1/state?subject=mira+%26+tom&cursor=new>; rel="next"'
