"""Runs `vigencia` as a person does: in a process of its own, in a folder of its own, with nothing set."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
from typer.testing import CliRunner

VIGENCIA: Final = Path(sys.executable).with_name("vigencia")


@dataclass(frozen=True, kw_only=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return orjson.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]


class CommandLine:
    """Commands in one folder, with a `vigencia.db` of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("VIGENCIA_")},
            "VIGENCIA_STORE": f"sqlite:///{folder / 'vigencia.db'}",
            "VIGENCIA_CONFIG": str(folder / "config.toml"),
        }

    def __call__(self, *arguments: str | Path, stdin: str | bytes | None = None) -> Done:
        """Run a command in this process, which is quick."""
        from api.cli import app

        before = Path.cwd()
        os.chdir(self.folder)
        try:
            done = CliRunner(env=self.environment).invoke(app, [str(a) for a in arguments], input=stdin)
        finally:
            os.chdir(before)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Done(code=done.exit_code, out=done.stdout, err=done.stderr)

    def start(self, *arguments: str | Path) -> "subprocess.Popen[str]":
        """Start a command in a process of its own."""
        return subprocess.Popen(
            [VIGENCIA, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def on_terminal(self, width: int, *arguments: str) -> str:
        """What a command shows on a terminal of so many columns, without its styles."""
        controller, terminal = pty.openpty()
        process = subprocess.Popen(
            [VIGENCIA, *arguments],
            cwd=self.folder,
            env={**self.environment, "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": str(width)},
            stdin=subprocess.DEVNULL,
            stdout=terminal,
            stderr=subprocess.DEVNULL,
        )
        os.close(terminal)
        shown = b""
        with contextlib.suppress(OSError):  # Linux says EIO where the other end is closed
            while part := os.read(controller, 65_536):
                shown += part
        os.close(controller)
        assert process.wait(timeout=60) == 0
        return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode())

    def run(self, *arguments: str | Path) -> Done:
        """Run a command in a process of its own."""
        return ended(self.start(*arguments))


def ended(process: "subprocess.Popen[str]", seconds: float = 60) -> Done:
    """How a started command ends."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Done(code=process.returncode, out=out, err=err)


def interrupt(process: "subprocess.Popen[str]") -> None:
    """Press Ctrl-C."""
    process.send_signal(signal.SIGINT)
