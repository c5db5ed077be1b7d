"""`vigencia backup` and `restore`, as a person uses them."""

import gzip
from pathlib import Path

import pytest

from graph.sqlite_store.store import SqliteStore
from tests.e2e.command_line import CommandLine

MARKER = "ZX-MARKER-77"


@pytest.fixture
def vigencia(tmp_path: Path) -> CommandLine:
    line = CommandLine(tmp_path)
    (tmp_path / "master.key").write_text("ab" * 32)
    line.environment |= {"VIGENCIA_BACKUP_KEYS": "backup.keys", "VIGENCIA_MASTER_KEY_FILE": "master.key"}
    assert line("remember", "mira", "lives_in", "Porto").code == 0
    assert line("remember", "mira", "lives_in", MARKER).code == 0
    assert line("remember", "noor", "lives_in", "Riga", "--tenant", "acme").code == 0
    return line


def hashes(vigencia: CommandLine, *store: str) -> list[str]:
    found = [vigencia("journal", "verify", "--json", "--tenant", t, *store).document for t in ("default", "acme")]
    assert all(document["fine"] for document in found)
    return [document["ledger_hash"] for document in found]


def elsewhere(vigencia: CommandLine, name: str = "again.db") -> tuple[str, str]:
    return "--store", f"sqlite:///{vigencia.folder / name}"


@pytest.mark.parametrize("name", ["memory.backup", "memory.backup.gz"])
def test_a_backup_brings_everything_back(vigencia: CommandLine, name: str) -> None:
    key = vigencia("keys", "create", "ann", "--grant", "*:read", "--json").document["prefix"]
    done = vigencia("backup", name)
    assert (done.code, [row[:3] for row in done.rows]) == (0, [["acme", "1", "1"], ["default", "2", "2"]])
    assert "keep copies of both, apart from the backups" in done.err
    content = (vigencia.folder / name).read_bytes()
    assert content.startswith(b"\x1f\x8b" if name.endswith(".gz") else b'{"format":"vigencia-backup"')
    assert MARKER.encode() not in (gzip.decompress(content) if name.endswith(".gz") else content)

    restored = vigencia("restore", name, *elsewhere(vigencia))

    assert restored.code == 0
    assert restored.rows == done.rows
    assert "1 keys, 0 owners of namespaces, 0 episodes to be read; 0 tombstones were applied again" in restored.err
    assert hashes(vigencia, *elsewhere(vigencia)) == hashes(vigencia)
    assert [row[0] for row in vigencia("keys", "list", *elsewhere(vigencia)).rows] == [key]


def test_what_came_after_a_backup_follows_it(vigencia: CommandLine) -> None:
    """So that nobody needs the whole journal again."""
    position = vigencia("backup", "file", "--json").document["tenants"]["default"]["position"]
    vigencia("remember", "mira", "lives_in", "Oslo")
    vigencia("restore", "file", *elsewhere(vigencia))
    assert vigencia("journal", "export", "later.jsonl", "--after", str(position)).code == 0
    done = vigencia("journal", "import", "later.jsonl", *elsewhere(vigencia), "--json")
    assert (done.code, done.document["events"]) == (0, 1)
    assert hashes(vigencia, *elsewhere(vigencia)) == hashes(vigencia)


def test_the_second_backup_takes_the_keys_that_are_there(vigencia: CommandLine) -> None:
    vigencia("backup", "one")
    keys = (vigencia.folder / "backup.keys").read_bytes()
    vigencia("remember", "mira", "lives_in", "Oslo")
    done = vigencia("backup", "two", "--json")
    assert done.document["tenants"]["default"]["events"] == 3
    assert (vigencia.folder / "backup.keys").read_bytes() == keys
    assert "key file" not in done.err


def test_one_tenant_alone(vigencia: CommandLine) -> None:
    assert list(vigencia("backup", "one", "--tenant", "acme", "--json").document["tenants"]) == ["acme"]
    none = vigencia("backup", "none", "--tenant", "nobody", "--json")
    assert (none.code, none.document["detail"]) == (3, "the store has nothing of the tenant 'nobody'")
    assert not (vigencia.folder / "none").exists()


def test_what_was_forgotten_is_in_no_restored_store(vigencia: CommandLine) -> None:
    vigencia("remember", "noor", "knows", "mira")
    vigencia("backup", "old")
    manifest = vigencia("forget", "mira", "--dry-run", "--json").document["manifest"]
    assert vigencia("forget", "mira", "--manifest", manifest).code == 0

    done = vigencia("restore", "old", *elsewhere(vigencia), "--json")

    assert (done.code, done.document["forgotten"]) == (0, 1)
    assert done.document["unreadable"] > 0
    assert MARKER.encode() not in b"".join(path.read_bytes() for path in vigencia.folder.glob("again.db*"))
    assert vigencia("state", "mira", *elsewhere(vigencia)).code == 3
    assert "forgotten" in vigencia("remember", "mira", "lives_in", "Oslo", *elsewhere(vigencia)).err
    assert vigencia("state", "noor", "--tenant", "acme", *elsewhere(vigencia)).rows[0][2] == "Riga"
    assert hashes(vigencia, *elsewhere(vigencia))

    new = vigencia("backup", "new", "--json")
    assert (new.code, new.document["left_out"]) == (0, 0)
    assert vigencia("restore", "new", *elsewhere(vigencia, "new.db"), "--json").document["unreadable"] == 0
    assert hashes(vigencia, *elsewhere(vigencia, "new.db")) == hashes(vigencia)


@pytest.mark.parametrize("later", ["backup", "restore"])
def test_what_a_server_without_keys_forgot_loses_them_later(vigencia: CommandLine, later: str) -> None:
    vigencia("backup", "old")
    keys = {name: vigencia.environment.pop(name) for name in ("VIGENCIA_BACKUP_KEYS", "VIGENCIA_MASTER_KEY_FILE")}
    manifest = vigencia("forget", "mira", "--dry-run", "--json").document["manifest"]
    assert vigencia("forget", "mira", "--manifest", manifest).code == 0
    vigencia.environment |= keys
    named = [] if later == "backup" else ["--forgotten-in", vigencia.environment["VIGENCIA_STORE"]]
    if later == "backup":
        assert vigencia("backup", "new").code == 0
    done = vigencia("restore", "old", *elsewhere(vigencia), *named, "--json").document
    assert (done["forgotten"], done["unreadable"] > 0) == (1, True)


def test_without_keys_a_backup_says_how_to_get_them(vigencia: CommandLine) -> None:
    del vigencia.environment["VIGENCIA_BACKUP_KEYS"]
    half = vigencia("backup", "file")
    assert (half.code, "VIGENCIA_BACKUP_KEYS is not set" in half.err) == (2, True)
    del vigencia.environment["VIGENCIA_MASTER_KEY_FILE"]
    for command in ("backup", "restore"):
        none = vigencia(command, "file")
        assert (none.code, "openssl rand -hex 32 > master.key" in none.err) == (2, True)
    assert sorted(path.name for path in vigencia.folder.glob("*.key*")) == ["master.key"]


def test_doctor_tries_the_keys(vigencia: CommandLine) -> None:
    def found() -> tuple[bool, str]:
        checks = vigencia("doctor", "--json").document["checks"]
        return next((check["fine"], check["finding"]) for check in checks if check["check"] == "backup keys")

    assert found() == (True, "no backup was made yet")
    vigencia("backup", "file")
    assert found() == (True, "backup.keys opens with master.key")
    (vigencia.folder / "master.key").write_text("cd" * 32)
    assert found()[0] is False


def test_a_restore_is_refused_where_something_is(vigencia: CommandLine) -> None:
    vigencia("backup", "file")
    done = vigencia("restore", "file", "--json")
    assert (done.code, done.document["detail"]) == (5, "the store has memory of the tenant 'acme'")
    assert "--resume" in done.err
    assert vigencia("restore", "file", "--resume").code == 0


def test_a_damaged_backup_restores_nothing(vigencia: CommandLine) -> None:
    vigencia("backup", "whole.gz")
    whole = (vigencia.folder / "whole.gz").read_bytes()
    plain = gzip.decompress(whole)
    damaged = {
        "cut.gz": (whole[:-200], "cannot be unpacked"),
        "bit.gz": (whole[:300] + bytes([whole[300] ^ 16]) + whole[301:], ""),
        "cut": (plain[:-100], "is not JSON"),
        "lines": (plain[: plain.rindex(b'{"manifest')], "ends before the manifest"),
    }
    for name, (content, told) in damaged.items():
        (vigencia.folder / name).write_bytes(content)
        done = vigencia("restore", name, *elsewhere(vigencia))
        assert (done.code, told in done.err, done.out) == (2, True, ""), (name, done.err)
        store = SqliteStore(str(vigencia.folder / "again.db"))
        assert store.tenants() == []
        store.close()


def test_another_master_key_or_another_key_file_restores_nothing(vigencia: CommandLine) -> None:
    vigencia("backup", "file")
    (vigencia.folder / "master.key").write_text("cd" * 32)
    done = vigencia("restore", "file", *elsewhere(vigencia))
    assert (done.code, "does not open the key file" in done.err) == (2, True)
    (vigencia.folder / "backup.keys").unlink()
    vigencia("backup", "other")
    done = vigencia("restore", "file", *elsewhere(vigencia))
    assert (done.code, "was sealed with the keys" in done.err) == (2, True)
    assert not (vigencia.folder / "again.db").exists() or SqliteStore(str(vigencia.folder / "again.db")).tenants() == []


def test_a_backup_that_is_interrupted_leaves_nothing(vigencia: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    vigencia("backup", "file")
    before = (vigencia.folder / "file").read_bytes()

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("graph.backup_lines.BackupWriter.event", interrupted)
    for name in ("file", "new.gz"):
        assert vigencia("backup", name).code == 130
    assert (vigencia.folder / "file").read_bytes() == before
    assert not list(vigencia.folder.glob("*.part"))
    assert not (vigencia.folder / "new.gz").exists()


def test_an_interrupted_restore_says_how_to_go_on(vigencia: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    vigencia("backup", "file")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("graph.restore._put_beside", interrupted)
        done = vigencia("restore", "file", *elsewhere(vigencia))
    assert (done.code, "--resume" in done.err) == (130, True)
    assert vigencia("restore", "file", *elsewhere(vigencia)).code == 5
    assert vigencia("restore", "file", "--resume", *elsewhere(vigencia)).code == 0
    assert hashes(vigencia, *elsewhere(vigencia)) == hashes(vigencia)


def test_names_that_cannot_be_a_backup(vigencia: CommandLine) -> None:
    assert vigencia("backup", "-").code == 2
    assert vigencia("backup", "no/folder/here").code == 2
    vigencia("backup", "file")
    assert vigencia("restore", "nothing").code == 3
    vigencia.environment["VIGENCIA_STORE"] = f"sqlite:///{vigencia.folder / 'none.db'}"
    assert vigencia("backup", "file").code == 3
