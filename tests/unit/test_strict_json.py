import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.limits import DEPTH_MAX, check_content_type, read_json
from ontology.errors import Incorrect, TooLarge, Unsupported

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
DOCUMENTS = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(DOCUMENTS)
def test_what_json_wrote_is_read_back_exactly(document: Any) -> None:
    for written in (json.dumps(document), json.dumps(document, ensure_ascii=False)):
        assert read_json(written.encode("utf-8")) == document


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with contextlib.suppress(Incorrect):
        json.dumps(read_json(body), allow_nan=False)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "unreadable_json"),
        (b"{} {}", "unreadable_json"),
        (b"{'a': 1}", "unreadable_json"),
        (b"\xef\xbb\xbf{}", "unreadable_json"),
        (b'"\xed\xa0\x80"', "unreadable_json"),
        (b"NaN", "unreadable_json"),
        (b"[1e400]", "out_of_range"),
        (b"1" * 2_000, "out_of_range"),
        (b'{"a": {"b": 1, "b": 2}}', "duplicate_member"),
        (b'{"a": 1, "\\u0061": 2}', "duplicate_member"),
        (b'["\\udc00"]', "lone_surrogate"),
    ],
)
def test_json_that_would_lose_or_guess_something_is_refused(body: bytes, code: str) -> None:
    with pytest.raises(Incorrect) as refused:
        read_json(body)

    assert [violation.code for violation in refused.value.violations] == [code]


def test_a_lone_surrogate_is_pointed_at_and_a_pair_is_read() -> None:
    assert read_json(b'"\\ud83d\\ude00"') == "😀"
    with pytest.raises(Incorrect) as refused:
        read_json(b'{"items": [{"value": "\\ud800"}]}')

    assert [violation.pointer for violation in refused.value.violations] == ["/items/0/value"]


@pytest.mark.parametrize("opener", [b"[", b'{"a":'])
def test_the_limit_of_depth_and_one_past_it(opener: bytes) -> None:
    closer = b"]" if opener == b"[" else b"}"

    assert read_json(opener * DEPTH_MAX + b"1" + closer * DEPTH_MAX)
    with pytest.raises(TooLarge):
        read_json(opener * (DEPTH_MAX + 1) + b"1" + closer * (DEPTH_MAX + 1))


def test_long_integers_are_kept_for_the_place_that_refuses_them() -> None:
    assert read_json(b"[%d]" % 2**70) == [2**70]


@pytest.mark.parametrize(
    "given", [b"application/json", b"application/json; charset=utf-8", b"Application/Merge-Patch+JSON"]
)
def test_content_types_of_json(given: bytes) -> None:
    check_content_type(given)


@pytest.mark.parametrize(
    "given", [None, b"", b"text/json", b"application/jsonx", b"application/json; charset=latin-1", b"\xff"]
)
def test_content_types_of_other_formats(given: bytes | None) -> None:
    with pytest.raises(Unsupported):
        check_content_type(given)
