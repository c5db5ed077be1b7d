"""Questions are answered at instants that stay repeatable."""

import dataclasses

import pytest

from graph.journal import NO_DIGEST
from graph.ports import Head
from graph.state import etag, resolve
from ontology.errors import FutureKnownAt
from ontology.facts import AsOf
from ontology.ids import Ledger
from ontology.instants import OPEN_START, Instant, parse_instant
from ontology.scope import scope_of

NOW = parse_instant("2026-06-03T12:00:00Z")
NEWEST = parse_instant("2026-06-03T10:00:00Z")
EARLIER = parse_instant("2026-06-01T00:00:00Z")
HEAD = Head(
    ledger=Ledger("abcdefgh"), position=7, recorded_at=NEWEST, digest=NO_DIGEST, erasures=0, schema_version=1
)  # fmt: skip
EMPTY = Head(ledger=None, position=0, recorded_at=OPEN_START, digest=NO_DIGEST, erasures=0, schema_version=0)


def test_by_default_a_question_is_about_now_as_known_at_the_newest_commit() -> None:
    assert resolve(HEAD, NOW, None, None) == AsOf(valid_at=NOW, known_at=NEWEST)


def test_an_empty_ledger_is_asked_as_of_now() -> None:
    assert resolve(EMPTY, NOW, None, None) == AsOf(valid_at=NOW, known_at=NOW)
    assert resolve(EMPTY, NOW, None, EARLIER).known_at == EARLIER


@pytest.mark.parametrize(
    ("asked", "answered"),
    [(EARLIER, EARLIER), (NEWEST, NEWEST), (Instant(NEWEST + 1), NEWEST), (NOW, NEWEST), (OPEN_START, OPEN_START)],
)
def test_known_at_is_answered_at_the_newest_commit_at_the_latest(asked: Instant, answered: Instant) -> None:
    assert resolve(HEAD, NOW, EARLIER, asked) == AsOf(valid_at=EARLIER, known_at=answered)


def test_the_future_may_be_asked_about_but_not_known() -> None:
    later = Instant(NOW + 1)

    assert resolve(HEAD, NOW, later, None).valid_at == later
    with pytest.raises(FutureKnownAt, match=r"2026-06-03T12:00:00\.000001Z is later than now, 2026-06-03T12:00:00Z"):
        resolve(HEAD, NOW, None, later)
    with pytest.raises(FutureKnownAt):
        resolve(EMPTY, NOW, None, later)


def test_a_clock_that_runs_backwards_does_not_refuse_what_was_echoed() -> None:
    behind = Instant(NEWEST - 5)

    assert resolve(HEAD, behind, None, NEWEST) == AsOf(valid_at=behind, known_at=NEWEST)


def test_a_tag_changes_with_the_scope_the_commit_an_erasure_and_the_query() -> None:
    heads = [
        HEAD,
        dataclasses.replace(HEAD, position=8),
        dataclasses.replace(HEAD, recorded_at=Instant(NEWEST + 1)),
        dataclasses.replace(HEAD, erasures=1),
        dataclasses.replace(HEAD, ledger=Ledger("zzzzzzzz")),
    ]
    tags = [etag(scope_of("acme"), head, b"q") for head in heads]
    tags += [etag(scope_of("acme"), HEAD, b"r"), etag(scope_of("acme", "team"), HEAD, b"q")]

    assert len(set(tags)) == len(tags)
    assert tags[0] == etag(scope_of("acme"), HEAD, b"q")
    assert tags[0].startswith('"')
