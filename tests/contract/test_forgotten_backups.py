"""What was forgotten is in no backup that anybody can read, and comes back with none. On all stores."""

from base64 import b64decode
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from api.backup_keys import KeyFile
from consolidation.episodes import NewEpisode
from consolidation.forgetting.again import Again
from consolidation.forgetting.forgetter import Forgetter, each_tombstone
from consolidation.items import Quoted
from consolidation.verify import refold
from graph.backup import BackedUp, back_up
from graph.backup_lines import tree_of
from graph.ledger import ledger_hash
from graph.ports import MemoryStore
from graph.restore import Restored, restore
from graph.sealing import Sealing
from graph.transfer import verify_events
from ontology.errors import NotFound, Refused
from ontology.instants import OPEN_END, SECOND, Instant
from ontology.scope import Tenant
from tests.conftest import FrozenClock, SeededRandomness
from tests.contract.test_forgetting import ELSEWHERE, MARKER, Known, tell_everything
from tests.contract.world import SCOPE, World, claim
from tests.naive_store import NaiveStore

ACME: Final = SCOPE.tenant
LATER: Final = Instant(OPEN_END - 2**40)
Lines = list[bytes]


class Kept(Known):
    """Whom much is known of, and whose backups lose their keys when it is forgotten."""

    def __init__(self, world: World, folder: Path) -> None:
        super().__init__(world)
        (folder / "master.key").write_text("ab" * 32)
        self.keys = KeyFile(folder / "backup.keys", folder / "master.key", SeededRandomness(5))
        randomness = SeededRandomness(6)
        self.forgetter = Forgetter(
            store=world.store, clock=world.clock, randomness=randomness, outside=[self.keys, self]
        )

    def back_up(self) -> tuple[Lines, BackedUp]:
        lines: Lines = []
        tree, sealing = self.keys.read_or_make().newest, SeededRandomness(len(lines))
        done = back_up(
            self.store, self.store.tenants(), Sealing(tree.keys, sealing), lines.append,
            tree=tree.name, made_at=Instant(0),
        )  # fmt: skip
        return lines, done

    def restored(self, lines: Lines, into: MemoryStore) -> Restored:
        ring = self.keys.read()
        tree = ring.tree(tree_of(lines))
        again = Again(store=into, clock=FrozenClock(LATER), randomness=SeededRandomness(8))
        done = restore(
            into, lambda: lines, Sealing(tree.keys, SeededRandomness(9)), tree=tree.name, now=Instant(OPEN_END - 1),
            forget_again=lambda tenant, gone: again.forget(tenant, ring.tombstones(tenant), gone),
        )  # fmt: skip
        self.keys.begin_tree()
        return done


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    world = World(NaiveStore())
    world.declare("lives_in", "works_for")
    return Kept(world, tmp_path)


def test_the_marker_cannot_be_read_in_an_old_backup_with_all_keys_there_are(kept: Kept) -> None:
    """A key, a name, values, quotes of others, held copies, an episode: 0 bytes."""
    tell_everything(kept)
    old, _ = kept.back_up()
    assert all(MARKER.encode() not in line for line in old)
    ring = kept.keys.read()
    assert MARKER.encode() in b"".join(everything(old, Sealing(ring.newest.keys, SeededRandomness())))
    kept.away(f"{MARKER}-key", scope=ELSEWHERE)
    kept.away(f"{MARKER}-key")

    sealing = Sealing(kept.keys.read().newest.keys, SeededRandomness())

    assert MARKER.encode() not in b"".join(everything(old, sealing))
    nodes = sealing.keys.nodes.values()
    for sealed in [part for entry in entries(old) for part in texts(*entry)]:
        raw = b64decode(sealed)
        for node in list(nodes)[::7]:
            with pytest.raises(InvalidTag):
                AESGCM(node).decrypt(raw[:12], raw[12:], b"")


def test_an_old_backup_brings_back_all_but_what_was_forgotten(kept: Kept, store: MemoryStore) -> None:
    tell_everything(kept)
    world = kept.world
    bo, cy, here = world.id("bo"), world.id("cy"), world.id(f"{MARKER}-key")
    twin = ledger_hash(kept.store, ACME, subject=world.id(f"{MARKER}-key", ELSEWHERE))
    other = ledger_hash(kept.store, ACME, subject=cy)
    old, _ = kept.back_up()
    kept.away(f"{MARKER}-key")
    world.tell("cy", "lives_in", "Rome", "2024")

    done = kept.restored(old, store)

    assert done.forgotten == 1
    assert done.unreadable > 0
    copy = World(store)
    assert verify_events(store, ACME) == []
    assert refold(store, ACME) == []
    assert ledger_hash(store, ACME, subject=copy.id(f"{MARKER}-key", ELSEWHERE)) == twin
    assert ledger_hash(store, ACME, subject=cy) == other
    assert copy.state("bo", "lives_in", "2022-01-01") == ["Oslo"]
    assert copy.state("bo", "lives_in", "2020-01-01") == ["Cork"]
    assert copy.state("bo", "knows", "2022-01-01") == [cy]
    rows = [row for row in store.ledger(ACME) if row[0] not in ("tombstone", "mark")]
    assert not any(here in str(row) for row in rows)
    with store.read(SCOPE) as reader:
        told = reader.claims(bo, None, limit=100, after=None)
        assert reader.quotes([each.claim.id for each in told]) == {}
        (stone,) = each_tombstone(reader)
        assert reader.tombstone_of(here) == stone
        assert (stone.actor, stone.destroyed) == ("person", (here,))
    with pytest.raises(Refused, match="stands for what was forgotten"):
        copy.write(claim(f"{MARKER}-key", "note", "back"))


@pytest.mark.parametrize("target", ["slot", "episode", "source"])
def test_what_else_was_forgotten_is_forgotten_again(kept: Kept, store: MemoryStore, target: str) -> None:
    world = kept.world
    (episode,) = kept.record(NewEpisode(text=f"{MARKER} lives in Oslo", source="diary"))
    quote = Quoted(turn=None, start=0, end=9, text=MARKER)
    world.write(
        claim("bo", "lives_in", "Oslo", "2021-01-01", episode=episode, source="diary", quote=quote),
        claim("bo", "works_for", "Apex", "2021-01-01", source="chat"),
    )
    world.tell("bo", "lives_in", "Cork", "2020-01-01", source="chat")
    old, _ = kept.back_up()
    targets: dict[str, dict[str, Any]] = {
        "slot": {"subject": "bo", "predicate": "lives_in"},
        "episode": {"episode": episode},
        "source": {"source": "diary"},
    }
    kept.away(**targets[target])
    left = world.state("bo", "lives_in", "2022-01-01")

    assert kept.restored(old, store).forgotten == 1

    copy = World(store)
    assert copy.state("bo", "lives_in", "2022-01-01") == left == ([] if target == "slot" else ["Cork"])
    assert copy.state("bo", "works_for", "2022-01-01") == ["Apex"]
    assert verify_events(store, ACME) == []
    assert refold(store, ACME) == []
    if target != "slot":
        assert MARKER not in "".join(map(str, store.ledger(ACME)))
        with store.read(SCOPE) as reader, pytest.raises(NotFound):
            reader.recorded_episode(episode)


def test_a_backup_made_after_forgetting_holds_the_same_ledger(kept: Kept, store: MemoryStore) -> None:
    tell_everything(kept)
    kept.back_up()
    kept.away(f"{MARKER}-key")
    new, done = kept.back_up()

    restored = kept.restored(new, store)

    assert (restored.forgotten, restored.unreadable, done.left_out) == (0, 0, 0)
    assert ledger_hash(store, ACME) == ledger_hash(kept.store, ACME)
    assert verify_events(store, ACME) == []


def test_what_comes_after_a_restore_has_a_key_though_its_id_was_forgotten_once(kept: Kept, store: MemoryStore) -> None:
    """A restored ledger gives again the ids that came after the backup: their keys are destroyed."""
    kept.world.tell("bo", "lives_in", "Cork", "2020-01-01")
    old, _ = kept.back_up()
    kept.world.tell("bo", "lives_in", "Oslo", "2021-01-01")
    kept.world.tell("late", "lives_in", "Rome", "2020-01-01")
    late = kept.world.id("late")
    kept.away("late")
    kept.restored(old, store)
    copy = World(store)
    copy.clock.reading = Instant(LATER + SECOND)
    with store.read(SCOPE) as reader:
        (stone,) = each_tombstone(reader)
    assert (stone.destroyed, stone.subject) == ((), None)
    with pytest.raises(Refused):
        copy.write(claim("late", "note", "again"))
    copy.write(claim("new", "lives_in", "Bonn", "2020-01-01"))
    assert copy.id("new") == late
    copy.write(*[claim(f"new {number}", "lives_in", "Bonn", "2020-01-01") for number in range(3)])

    again = Kept.__new__(Kept)
    again.store, again.keys = store, kept.keys
    lines, done = again.back_up()

    assert done.left_out == 0
    third = NaiveStore()
    assert kept.restored(lines, third).unreadable == 0
    assert ledger_hash(third, ACME) == ledger_hash(store, ACME)


def test_told_again_the_keys_stay_as_they_are(kept: Kept) -> None:
    tell_everything(kept)
    kept.back_up()
    kept.away(f"{MARKER}-key")
    before = kept.keys.path.read_bytes()
    kept.forgetter.resume()
    kept.away(f"{MARKER}-key")
    assert kept.keys.path.read_bytes() == before


def entries(lines: Lines) -> list[tuple[int, Any]]:
    documents = [orjson.loads(line) for line in lines]
    return [(each["position"], entry) for each in documents if "previous" in each for entry in each["sealed"]]


def texts(_: int, entry: Any) -> list[str]:
    return [entry[1], *(part[1] for part in entry[4])]


def everything(lines: Lines, sealing: Sealing) -> list[bytes]:
    """All that opens, the tenant's own things too."""
    opened = [sealing.open_payload(ACME, *entry) for entry in entries(lines)]
    found = [each.payload.body for each in opened if each is not None]
    tenant = Tenant("")
    for document in map(orjson.loads, lines):
        tenant = document.get("tenant", tenant)
        if "beside" in document:
            found.append(sealing.open_beside(tenant, document["beside"], document["sealed"]))
    return found
