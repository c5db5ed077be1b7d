"""The key file is written whole or not at all, opens with its master key alone, and forgets for good."""

import stat
import threading
from pathlib import Path

import orjson
import pytest

from api.backup_keys import KeyFile
from ontology.errors import Incorrect, NotFound, Unavailable, Unsupported
from ontology.ids import ClaimId, EntityId, EpisodeId, Owner, TombstoneId
from ontology.instants import Instant
from ontology.scope import Tenant, scope_of
from ontology.tombstones import Mark, Marked, Target, Tombstone
from tests.conftest import SeededRandomness

ACME = Tenant("acme")
ANNA, BEN, TALK = EntityId("ent_abcdefgh_2_0"), EntityId("ent_abcdefgh_3_0"), EpisodeId("epi_abcdefgh_3_0")


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    (tmp_path / "master.key").write_text("ab" * 32 + "\n")
    return KeyFile(tmp_path / "backup.keys", tmp_path / "master.key", SeededRandomness())


def test_the_first_reader_makes_it_and_every_later_one_reads_the_same(file: KeyFile) -> None:
    made = file.read_or_make()
    again = file.read_or_make()
    assert (again.newest.name, again.newest.keys.nodes) == (made.newest.name, made.newest.keys.nodes)
    assert key_of(file, ANNA) == made.newest.keys.key(ACME, ANNA) is not None
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_it_has_no_key_in_the_clear(file: KeyFile) -> None:
    tree = file.read_or_make().newest
    content = file.path.read_bytes()
    for secret in (*tree.keys.nodes.values(), tree.keys.of_manifests()):
        assert secret not in content
        assert secret.hex().encode() not in content


def key_of(file: KeyFile, owner: Owner, generation: int = 0) -> bytes | None:
    return file.read().newest.keys.key(ACME, owner, generation)


def stone(*destroyed: Owner, restated: tuple[Owner, ...] = (), manifest: str = "m") -> Tombstone:
    return Tombstone(
        id=TombstoneId("frg_abcdefgh_9_0"), scope=scope_of("acme"), target=Target.SUBJECT, manifest=manifest,
        subject=ANNA, predicate=None, destroyed=destroyed, restated=restated, claims=(ClaimId("clm_abcdefgh_2_0"),),
        facts=(), marks=(Mark(kind=Marked.KEY, digest=b"."),), counts={"claims": 1}, blocks=True, actor="me",
        position=9, recorded_at=Instant(99), lifted=None,
    )  # fmt: skip


def test_what_was_forgotten_stays_so_and_the_rest_stays(file: KeyFile) -> None:
    before = file.read_or_make().newest
    for _ in range(2):
        file.forget(ACME, stone(ANNA, restated=(BEN, TALK)), b"secret")
    after = file.read()
    assert after.newest.name == before.name
    assert key_of(file, ANNA) is key_of(file, ANNA, 1) is None
    assert key_of(file, BEN) == before.keys.key(ACME, BEN), "what is left of a subject is in old backups, too"
    assert (key_of(file, TALK), key_of(file, TALK, 1)) == (None, before.keys.key(ACME, TALK, 1))
    assert after.tombstones(ACME) == [(stone(ANNA, restated=(BEN, TALK)), b"secret")]
    assert after.tombstones(Tenant("other")) == []


def test_what_another_process_wrote_counts(file: KeyFile, tmp_path: Path) -> None:
    file.read_or_make()
    other = KeyFile(file.path, tmp_path / "master.key", SeededRandomness(1))
    file.forget(ACME, stone(ANNA, manifest="a"), b"")
    other.forget(ACME, stone(BEN, manifest="b"), b"")
    file.forget(ACME, stone(TALK, manifest="c"), b"")
    other.forget(ACME, stone(ANNA, manifest="a"), b"")
    assert [found.manifest for found, _ in file.read().tombstones(ACME)] == ["a", "b", "c"]
    assert [key_of(file, owner) for owner in (ANNA, BEN, TALK)] == [None, None, None]


def test_each_restore_begins_other_keys_and_forgetting_reaches_all_of_them(file: KeyFile) -> None:
    first = file.read_or_make().newest
    file.begin_tree()
    second = file.read().newest
    assert first.name != second.name
    assert first.keys.key(ACME, ANNA) != second.keys.key(ACME, ANNA)
    file.forget(ACME, stone(ANNA), b"secret")
    assert [tree.keys.was_destroyed(ACME, ANNA) for tree in file.read().trees] == [True, True]
    assert file.read().tree(first.name).keys.key(ACME, BEN) == first.keys.key(ACME, BEN)
    with pytest.raises(Incorrect, match=f"with the keys 'x', and the key file has {first.name}, {second.name}"):
        file.read().tree("x")


def test_where_there_is_no_key_file_there_is_nothing_to_destroy(file: KeyFile) -> None:
    file.forget(ACME, stone(ANNA), b"")
    assert not file.exists()


def test_what_it_had_before_is_overwritten(file: KeyFile) -> None:
    """The file of before, which another name still holds here, as its blocks do on a disk."""
    file.read_or_make()
    kept = file.path.with_name("kept")
    kept.hardlink_to(file.path)
    file.forget(ACME, stone(ANNA), b"")
    assert set(kept.read_bytes()) == {0}


def test_a_write_that_fails_leaves_it_as_it_was(file: KeyFile, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_or_make().newest

    def fails(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fails)
    with pytest.raises(Unavailable, match=r"cannot be written: No space left on device; it is as it was"):
        file.forget(ACME, stone(ANNA), b"")
    monkeypatch.undo()
    assert file.read().newest.keys.nodes == before.keys.nodes
    assert sorted(path.name for path in file.path.parent.iterdir()) == ["backup.keys", "backup.keys.lock", "master.key"]


def test_of_writers_at_once_none_undoes_what_another_destroyed(file: KeyFile, tmp_path: Path) -> None:
    file.read_or_make()
    owners = [EntityId(f"ent_abcdefgh_{number}_0") for number in range(12)]
    others = [KeyFile(file.path, tmp_path / "master.key", SeededRandomness(number)) for number in range(12)]
    threads = [
        threading.Thread(target=other.forget, args=(ACME, stone(owner, manifest=owner), b""))
        for other, owner in zip(others, owners, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(key_of(file, owner) is None for owner in owners)


def test_another_master_key_does_not_open_it(file: KeyFile, tmp_path: Path) -> None:
    file.read_or_make()
    (tmp_path / "master.key").write_text("cd" * 32)
    with pytest.raises(Incorrect, match=r"master.key.* does not open the key file .*backup.keys"):
        file.read()


def test_a_bit_that_was_flipped_is_noticed(file: KeyFile) -> None:
    file.read_or_make()
    document = orjson.loads(file.path.read_bytes())
    sealed = document["sealed"]
    file.path.write_bytes(orjson.dumps({**document, "sealed": ("B" if sealed[0] == "A" else "A") + sealed[1:]}))
    with pytest.raises(Incorrect, match="or the file is damaged"):
        file.read()


@pytest.mark.parametrize(
    ("content", "error", "told"),
    [
        (b"", Incorrect, "is damaged"),
        (b"[]", Incorrect, "is damaged"),
        (b'{"format":"else"}', Unsupported, "is no key file of backups"),
        (b'{"format":"vigencia-backup-keys","version":2}', Unsupported, "is of version 2"),
        (b'{"format":"vigencia-backup-keys","version":1}', Incorrect, "is damaged"),
    ],
)
def test_what_is_no_key_file_is_told(file: KeyFile, content: bytes, error: type[Exception], told: str) -> None:
    file.path.write_bytes(content)
    with pytest.raises(error, match=told):
        file.read()


@pytest.mark.parametrize("master", ["", "ab" * 31, "ab" * 33, "zz" * 32, "ä"])
def test_a_master_key_is_64_hexadecimal_digits(file: KeyFile, tmp_path: Path, master: str) -> None:
    (tmp_path / "master.key").write_text(master)
    with pytest.raises(Incorrect, match="64 hexadecimal digits"):
        file.read_or_make()
    assert not file.exists()


def test_files_that_are_not_there_are_named(file: KeyFile, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no key file .*backup.keys"):
        file.read()
    (tmp_path / "master.key").unlink()
    with pytest.raises(NotFound, match=r"no master key file .*master.key.*openssl rand -hex 32"):
        file.read_or_make()
