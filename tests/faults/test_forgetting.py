"""A process that is killed amid forgetting, at any step: it is done wholly or not at all, and the file is scrubbed."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from consolidation.forgetting.forgetter import Forgetter, Named
from consolidation.items import Assert, Said
from graph import transfer
from graph.sqlite_store.connection import Connection
from graph.sqlite_store.store import SqliteStore
from ontology.instants import SECOND
from tests.conftest import FrozenClock, SeededRandomness
from tests.contract.world import SCOPE, World
from tests.sizes import scaled

MARKER: Final = "zqxmarker"
EVERY: Final = scaled(1, 23)
"""After so many statements more the next child is killed."""
VERA: Final = Named(subject=f"{MARKER}-key")


def told(path: Path) -> FrozenClock:
    """A file in which much is told of Vera; gives the clock as it stands then."""
    store = SqliteStore(str(path))
    world = World(store)
    said = Said(valid_from="2020-01-01", episode="call")
    person = {"key": f"{MARKER}-key"}
    for number in range(8):
        other = {"key": f"other {number}"}
        world.write(
            Assert(subject=person, predicate="note", value=f"{MARKER} {number}", said=said),
            Assert(subject=other, predicate="knows", value={"type": "entity", **person}, said=said),
            Assert(subject=other, predicate="note", value="stays", said=said),
            key=f"key {number}",
        )  # fmt: skip
    store.close()
    world.clock.advance(SECOND)
    return world.clock


def forget(path: Path, clock: FrozenClock) -> dict[str, Any]:
    store = SqliteStore(str(path))
    try:
        forgetter = Forgetter(store=store, clock=clock, randomness=SeededRandomness(3))
        confirm = str(forgetter.preview(SCOPE, VERA)["manifest"])
        return dict(forgetter.forget(SCOPE, "person", VERA, confirm=confirm))
    finally:
        store.close()


def in_child(act: Callable[[], object]) -> int:
    """Do it in a child; gives its exit code."""
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def dying(count: int) -> None:
    """Let this process die at its `count`-th statement, without any good-bye."""
    left = count

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def called(self: Connection, *given: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os._exit(9)
            return method(self, *given)

        return called

    for name in ("all", "one", "many", "run"):
        setattr(Connection, name, counted(getattr(Connection, name)))


def rows(path: Path) -> tuple[list[object], int]:
    """The ledger, and how many tombstones there are; to open the file ends a scrub that was begun."""
    store = SqliteStore(str(path))
    try:
        assert transfer.verify_events(store, SCOPE.tenant) == []
        with store.read(SCOPE) as reader:
            return list(store.ledger(SCOPE.tenant)), len(reader.tombstones(limit=9, after=0))
    finally:
        store.close()


def bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.glob(path.name + "*"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_whoever_is_killed_amid_forgetting_has_done_it_wholly_or_not_at_all(tmp_path: Path) -> None:
    base = tmp_path / "base.db"
    clock = told(base)
    before = rows(base)
    seen = {0: 0, 1: 0}
    killed, count = True, 100
    while killed:
        path = tmp_path / f"{count}.db"
        shutil.copy(base, path)

        def act(path: Path = path, count: int = count) -> None:
            dying(count)
            forget(path, clock)

        code = in_child(act)
        assert code in (0, 9)
        killed = code == 9
        after = rows(path)
        seen[after[1]] += 1
        if after[1] == 0:
            assert after == before
            forget(path, clock)
        else:
            assert MARKER.encode() not in bytes_of(path), count
        assert MARKER.encode() not in bytes_of(path), count
        assert forget(path, clock)["files"] == {"scrubbed": True, "left": ""}
        path.unlink()
        count += EVERY
    assert min(seen.values()) > 1, seen


def test_a_reader_in_the_way_leaves_the_scrub_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    clock = told(path)
    store = SqliteStore(str(path), busy_seconds=0.2)
    forgetter = Forgetter(store=store, clock=clock, randomness=SeededRandomness(3))
    confirm = str(forgetter.preview(SCOPE, VERA)["manifest"])
    with store.read(SCOPE) as reader:
        assert reader.head.position > 0

        receipt: Any = forgetter.forget(SCOPE, "person", VERA, confirm=confirm)

        assert receipt["files"]["scrubbed"] is False
        assert "reader" in receipt["files"]["left"]
    again: Any = forgetter.forget(SCOPE, "person", VERA, confirm=confirm)
    assert again["files"]["scrubbed"] is True
    assert MARKER.encode() not in bytes_of(path)
    store.close()
