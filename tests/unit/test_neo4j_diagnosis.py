"""What is made of a server's answers about itself: which are fine, which need a look, which are wrong."""

from pathlib import Path

import pytest

from graph.neo4j_store import diagnosis
from graph.ports import Grade
from ontology.instants import SECOND, Instant

NOW = Instant(1_800_000_000 * SECOND)
LOCK, KEEP_ALIVE, PROBES, DATA = (
    "db.lock.acquisition.timeout", "server.bolt.connection_keep_alive", "server.bolt.connection_keep_alive_probes",
    "server.directories.data",
)  # fmt: skip


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [("5s", 5), ("0s", 0), ("0ns", 0), ("1m", 60), ("1m30s", 90), ("1.5s", 1.5), ("500ms", 0.5), ("2h", 7200)],
)
def test_durations_are_read_as_the_server_writes_them(duration: str, seconds: float) -> None:
    assert diagnosis._seconds(duration) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("value", "grade", "words"),
    [("5s", Grade.OK, "5s"), ("0s", Grade.WARNING, "set db.lock.acquisition.timeout"), (None, Grade.OK, "not say")],
)
def test_a_writer_that_would_wait_without_end_is_a_warning(value: str | None, grade: Grade, words: str) -> None:
    found = diagnosis._lock_timeout({} if value is None else {LOCK: value})
    assert (found.grade, words in found.finding) == (grade, True), found


@pytest.mark.parametrize(
    ("value", "probes", "grade", "words"),
    [
        ("5s", "2", Grade.OK, "after 10 s"),
        ("1m", "2", Grade.WARNING, "only after 120 s; set server.bolt.connection_keep_alive to 5s"),
        ("0s", "2", Grade.WARNING, "never"),
        (None, None, Grade.OK, "not say"),
    ],
)
def test_a_hang_that_would_go_unnoticed_for_long_is_a_warning(
    value: str | None, probes: str | None, grade: Grade, words: str
) -> None:
    found = diagnosis._keep_alive({KEEP_ALIVE: value, PROBES: probes} if value and probes else {})
    assert (found.grade, words in found.finding) == (grade, True), found


@pytest.mark.parametrize(
    ("apart", "grade", "words"),
    [
        (0, Grade.OK, "0.0 s after"),
        (2 * SECOND, Grade.OK, "2.0 s after"),
        (-2 * SECOND - 1, Grade.WARNING, "2.0 s before"),
        (3600 * SECOND, Grade.WARNING, "3600.0 s after the clock of this machine; set both by a time server"),
    ],
)
def test_clocks_that_are_apart_are_a_warning(apart: int, grade: Grade, words: str) -> None:
    found = diagnosis._clock(Instant(NOW + apart), NOW)
    assert (found.grade, words in found.finding) == (grade, True), found


def test_the_disk_is_looked_at_where_the_data_is_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "does not say" in diagnosis._disk({}, "neo4j").finding
    assert "does not say" in diagnosis._disk({DATA: str(tmp_path)}, "neo4j").finding
    (tmp_path / "databases" / "neo4j").mkdir(parents=True)
    here = diagnosis._disk({DATA: str(tmp_path)}, "neo4j")
    assert (here.grade, "MiB free" in here.finding, here.private) == (Grade.OK, True, True)
    monkeypatch.setattr(diagnosis, "FREE_BYTES_MIN", 1 << 60)
    assert diagnosis._disk({DATA: str(tmp_path)}, "neo4j").grade is Grade.FAILED
