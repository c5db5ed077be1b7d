"""Are lines cut where they end, whatever pieces they come in, and is an id found in what cannot be read?"""

import json
import time
from typing import Final

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.agents.messages import SEEN_BYTES, Refusal, read_message, too_long
from api.agents.streams import Cutter, Line, TooLongLine

IDS: Final = st.integers(-(10**15), 10**15) | st.text(max_size=20)
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.just("id"), inner, max_size=3),
    max_leaves=10,
)


def cut(pieces: list[bytes], bytes_max: int) -> list[Line]:
    cutter = Cutter(bytes_max)
    return [line for piece in pieces for line in cutter.lines(piece)] + list(cutter.last())


@given(st.lists(st.binary(max_size=6)), st.integers(1, 12))
def test_lines_are_the_same_in_whatever_pieces_they_come(pieces: list[bytes], bytes_max: int) -> None:
    expected = [line for line in b"".join(pieces).split(b"\n") if line.strip() or len(line) > bytes_max]
    found = cut(pieces, bytes_max)
    assert len(found) == len(expected)
    for line, whole in zip(found, expected, strict=True):
        assert isinstance(line, TooLongLine) == (len(whole) > bytes_max)
        if isinstance(line, TooLongLine):
            assert whole.startswith(line.head)
            assert whole.endswith(line.tail)
        else:
            assert line == whole


def test_of_a_line_that_is_too_long_little_is_kept() -> None:
    [line] = cut([b"a" * 1_000_000] * 50 + [b"\n"], 10_000)

    assert isinstance(line, TooLongLine)
    assert len(line.head) + len(line.tail) <= 2 * SEEN_BYTES


@given(IDS, JSON, st.booleans(), st.booleans())
def test_the_id_of_what_cannot_be_read_is_found(id: object, params: object, first: bool, ascii: bool) -> None:
    broken = {"id": id, "method": 5, "params": {"a": params}} if first else {"params": [params], "x": 1, "id": id}
    line = json.dumps(broken, ensure_ascii=ascii).encode()

    refused = read_message(line)
    assert isinstance(refused, Refusal)
    assert refused.answer.id == id
    assert refused.answer.error.code == types.INVALID_REQUEST


@pytest.mark.parametrize("line", [
    b'{"params":{"id":3}', b'{"a":"\\"id\\":3', b'["id",3', b'{"id":[3]}', b'{"id":{"id":3}}', b'{"id":"\\ud800"}',
    b'"id":3',
])  # fmt: skip
def test_an_id_that_is_not_that_of_the_message_is_none(line: bytes) -> None:
    refused = read_message(line)
    assert isinstance(refused, Refusal)
    assert refused.answer.id is None


@pytest.mark.parametrize("part", [b'\\"', b"{", b'"', b'"id":', b"\\", b'{"id":"', b" "])
def test_an_id_is_looked_for_in_a_time_that_does_not_grow_with_its_square(part: bytes) -> None:
    hostile = b'{"a":"' + part * SEEN_BYTES
    began = time.monotonic()
    too_long(hostile[:SEEN_BYTES], hostile[-SEEN_BYTES:], 10)
    assert time.monotonic() - began < 20  # minutes, if it did
