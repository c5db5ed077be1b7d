"""Runs `vigencia` as a person does: in a process of its own, in a folder of its own, with nothing set."""

import contextlib
import logging
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
from typer.testing import CliRunner

from api.logs import AUDIT

SECONDS_MAX: Final = 240
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


@contextlib.contextmanager
def logging_kept() -> Iterator[None]:
    """What a command sets for its process ends with it: its stderr is closed when others log later."""
    loggers = [logging.getLogger(name) for name in (None, "vigencia", AUDIT)]
    before = [(each.handlers[:], each.level, each.propagate) for each in loggers]
    try:
        yield
    finally:
        for each, (handlers, level, propagate) in zip(loggers, before, strict=True):
            each.handlers[:], each.propagate = handlers, propagate
            each.setLevel(level)


class CommandLine:
    """Commands in one folder, with a `vigencia.db` of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("VIGENCIA_", "NEO4J_"))},
            "VIGENCIA_STORE": f"sqlite:///{folder / 'vigencia.db'}",
            "VIGENCIA_CONFIG": str(folder / "config.toml"),
        }

    def keep_on_neo4j(self, uri: str | None = None) -> None:
        """From here on memory is kept on a Neo4j, by default that of the tests; it is emptied."""
        from tests.neo4j.stores import empty_store, server

        uri = uri or server().uri
        empty_store(uri).close()
        self.environment |= {"VIGENCIA_STORE": "neo4j", "NEO4J_URI": uri}

    def __call__(self, *arguments: str | Path, stdin: str | bytes | None = None) -> Done:
        """Run a command in this process, which is quick."""
        from api.cli import app

        before = Path.cwd()
        os.chdir(self.folder)
        try:
            with logging_kept():
                done = CliRunner(env=self.environment).invoke(app, [str(a) for a in arguments], input=stdin)
        finally:
            os.chdir(before)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Done(code=done.exit_code, out=done.stdout, err=done.stderr)

    def start(self, *arguments: str | Path) -> "Running":
        """Start a command in a process of its own."""
        return Running(self, [str(VIGENCIA), *map(str, arguments)])

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
        assert process.wait(SECONDS_MAX) == 0
        return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode())

    def run(self, *arguments: str | Path) -> Done:
        """Run a command in a process of its own."""
        return self.start(*arguments).end()


class Running:
    """A command in a process of its own; what it says goes to files, so that nothing of it is lost or waits."""

    def __init__(self, line: CommandLine, command: list[str]) -> None:
        folder = Path(tempfile.mkdtemp(dir=line.folder))
        self._out, self._err = folder / "stdout", folder / "stderr"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                command, cwd=line.folder, env=line.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )

    def told(self, until: Callable[[str], bool]) -> list[str]:
        """The complete lines on stderr, once there is one that is waited for."""
        deadline = time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline:
            over = self.process.poll() is not None
            lines = [line for line in self._err.read_text().splitlines(keepends=True) if line.endswith("\n")]
            if any(map(until, lines)):
                return [line.rstrip("\n") for line in lines]
            assert not over, "".join(lines)
            time.sleep(0.02)
        raise AssertionError("it says nothing of the kind")

    def said(self) -> str:
        """All that is on stderr by now."""
        return self._err.read_text()

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def end(self) -> Done:
        """Wait for the end."""
        try:
            code = self.process.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.stop()
            raise
        return Done(code=code, out=self._out.read_text(), err=self._err.read_text())

    def stop(self) -> None:
        """End it at once, if it is not over."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
