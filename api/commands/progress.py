"""How far a long work is, on stderr: a bar on a terminal, a line each ten seconds elsewhere, or JSON for machines."""

import json
import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from api.commands.answering import tell

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

LINE_SECONDS: Final = 10.0
JSON_SECONDS: Final = 1.0
KINDS: Final = ("auto", "json", "none")

Monotonic = Callable[[], float]


class Progress:
    """The progress of one work, in phases; each phase counts units up to a total that may be unknown."""

    def __init__(self, kind: str, monotonic: Monotonic = time.monotonic) -> None:
        self._kind = "lines" if kind == "auto" and not sys.stderr.isatty() else kind
        self._monotonic = monotonic
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._phase = ""
        self._total: int | None = None
        self._done = 0
        self._counters: Mapping[str, int] = {}
        self._started = self._told = monotonic()

    def __enter__(self) -> Self:
        if self._kind == "auto":
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(), TextColumn("{task.fields[counters]}"), console=Console(stderr=True),
            )  # fmt: skip
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def phase(self, name: str, total: int | None) -> None:
        """Begin to count anew."""
        self._phase, self._total, self._done, self._counters = name, total, 0, {}
        self._started = self._told = self._monotonic()
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(name, total=total, rate="", counters="")

    def advance(self, units: int, counters: Mapping[str, int]) -> None:
        """So many more are done, and this is what became of all so far."""
        self._done += units
        self._counters = dict(counters)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, rate=f"{self._rate():,.0f}/s", counters=self._counted())
            return
        now = self._monotonic()
        if self._kind == "lines" and now - self._told >= LINE_SECONDS:
            self._told = now
            total = "" if self._total is None else f"/{self._total:,}"
            tell(
                f"{self._phase}: {self._done:,}{total}, {self._rate():,.0f}/s{self._left()} {self._counted()}".rstrip()
            )
        elif self._kind == "json" and now - self._told >= JSON_SECONDS:
            self._told = now
            self._tell_json()

    def end(self) -> None:
        """The last word of a phase, for machines."""
        if self._kind == "json":
            self._tell_json()

    def _tell_json(self) -> None:
        remaining = self._remaining()
        tell(
            json.dumps(
                {
                    "phase": self._phase,
                    "done": self._done,
                    "total": self._total,
                    "per_second": round(self._rate(), 1),
                    "seconds_left": None if remaining is None else round(remaining, 1),
                    "counters": self._counters,
                }
            )
        )

    def _rate(self) -> float:
        return self._done / max(self._monotonic() - self._started, 1e-6)

    def _remaining(self) -> float | None:
        return None if self._total is None or not self._done else (self._total - self._done) / self._rate()

    def _left(self) -> str:
        remaining = self._remaining()
        return "" if remaining is None else f", {remaining:,.0f} s left"

    def _counted(self) -> str:
        return " ".join(f"{name}={count:,}" for name, count in self._counters.items())
