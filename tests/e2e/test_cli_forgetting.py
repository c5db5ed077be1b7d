"""`vigencia forget` and `tombstones`, as a person and a script use them."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.e2e.command_line import SECONDS_MAX, VIGENCIA, CommandLine


@pytest.fixture
def vigencia(tmp_path: Path) -> CommandLine:
    line = CommandLine(tmp_path)
    line("remember", "mira", "name", "Mira Lind", "--valid-from", "2020-01-01")
    line("remember", "mira", "note", "zqxmarker", "--valid-from", "2020-01-01", "--source", "crm")
    line("remember", "bo", "knows", "mira", "--type", "entity", "--valid-from", "2020-01-01")
    return line


def asked(vigencia: CommandLine, said: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """A command whose input is a terminal on which somebody types a line."""
    controller, terminal = pty.openpty()
    os.write(controller, f"{said}\n".encode())
    done = subprocess.run(
        [VIGENCIA, *arguments], cwd=vigencia.folder, env=vigencia.environment, stdin=terminal,
        capture_output=True, timeout=SECONDS_MAX, check=False,
    )  # fmt: skip
    os.close(controller)
    os.close(terminal)
    return done


def test_a_script_gives_the_hash_of_what_it_was_told(vigencia: CommandLine) -> None:
    preview = vigencia("forget", "mira", "--dry-run", "--json").document
    assert preview["counts"] | {"claims": 3, "facts": 3, "entities": 1} == preview["counts"]
    refused = vigencia("forget", "mira")
    assert (refused.code, "--manifest" in refused.err) == (2, True)
    assert vigencia("forget", "mira", "--manifest", "0" * 64).code == 5
    assert len(vigencia("state", "mira").rows) == 2

    done = vigencia("forget", "mira", "--manifest", preview["manifest"])

    assert done.code == 0
    assert "found 0" in done.out
    assert "free of it" in done.out
    gone = vigencia("state", "mira")
    assert (gone.code, "forgotten" in gone.err) == (3, True)
    assert vigencia("remember", "mira", "note", "again").code == 3
    assert all(b"zqxmarker" not in file.read_bytes() for file in vigencia.folder.glob("vigencia.db*"))
    again = vigencia("forget", "mira", "--json").document
    assert again["tombstone"] in vigencia("tombstones", "list").out
    assert vigencia("tombstones", "list", "--json").document["items"][0]["manifest"] == preview["manifest"]

    lifted = vigencia("tombstones", "lift", again["tombstone"])
    assert "refuses nothing any more" in lifted.out
    assert vigencia("remember", "mira", "note", "somebody else").code == 0
    assert vigencia("tombstones", "lift", "frg_aaaaaaaa_1_0").code == 3


def test_on_a_terminal_it_shows_what_would_go_and_asks(vigencia: CommandLine) -> None:
    refused = asked(vigencia, "n", "forget", "mira", "note")
    assert refused.returncode == 4
    assert b"claims" in refused.stdout
    assert b"nothing was forgotten" in refused.stderr
    assert len(vigencia("state", "mira").rows) == 2

    done = asked(vigencia, "y", "forget", "mira", "note")

    assert (done.returncode, b"found 0" in done.stdout) == (0, True)
    assert len(vigencia("state", "mira").rows) == 1


def test_a_source_is_forgotten_by_its_name(vigencia: CommandLine) -> None:
    manifest = vigencia("forget", "--source", "crm", "--dry-run", "--json").document["manifest"]

    assert vigencia("forget", "--source", "crm", "--manifest", manifest, "--json").document["target"] == "source"
    assert vigencia("forget", "--source", "nobody").code == 3
    assert vigencia("forget").code == 2


def test_what_is_forgotten_loses_its_key_in_backups(vigencia: CommandLine) -> None:
    vigencia.environment |= {"VIGENCIA_BACKUP_KEYS": "backup.keys", "VIGENCIA_MASTER_KEY_FILE": "master.key"}
    (vigencia.folder / "master.key").write_text("5a" * 32)
    assert vigencia("backup", "old.backup").code == 0
    manifest = vigencia("forget", "mira", "--dry-run", "--json").document["manifest"]
    assert vigencia("forget", "mira", "--manifest", manifest).code == 0

    restored = vigencia("restore", "old.backup", "--store", f"sqlite:///{vigencia.folder / 'again.db'}")

    assert restored.code == 0, restored.err
    content = b"".join(file.read_bytes() for file in vigencia.folder.glob("again.db*"))
    assert b"zqxmarker" not in content
    assert b"mira" not in content
    assert b"bo" in content
