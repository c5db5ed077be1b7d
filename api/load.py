"""Loading files of items: check every line first, then write batch by batch, and say what is refused.

A batch is one transaction. Its idempotency key comes from the content of the file and the range of its lines, so
a load that was killed can be started again and has one effect. A line that is refused is set aside with the
reason, and the rest of its batch is written. Memory stays constant however long the file is.
"""

import re
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from api.authority import authority_of_files
from api.load_lines import Line, LineFile, Stamp
from consolidation.check import again, check
from consolidation.idempotency import Written, restored
from consolidation.items import Item
from consolidation.write import Writer
from graph.ports import MemoryStore
from ontology.errors import JSON, Busy, Conflict, Incorrect, KeyReused, NotFound, TooLarge, VigenciaError, shown
from ontology.schema import Schema
from ontology.scope import Scope

BATCH_LINES: Final = 1000
BUSY_TRIES: Final = 8
BISECTED_AFTER: Final = 8
"""How many refusals of one batch make it two, so that a batch full of them is not tried once for each."""
CHECKED_TOGETHER: Final = 200

_POINTED: Final = re.compile(r"/items/(\d+)(.*)", re.DOTALL)

Sleep = Callable[[float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A line that was not loaded, and why."""

    line: int
    error: VigenciaError
    text: bytes

    def document(self, name: str) -> dict[str, JSON]:
        """As a line of the report."""
        return {
            "file": name,
            "line": self.line,
            "type": f"/problems/{self.error.slug}",
            "detail": self.error.message,
            "remedy": self.error.remedy,
            "errors": [{"pointer": v.pointer, "code": v.code, "detail": v.detail} for v in self.error.violations],
            "text": self.text.decode("utf-8", "replace").rstrip("\r\n"),
        }


class Watcher(Protocol):
    """Told how a load goes."""

    def checked(self, lines: int) -> None:
        """So many more lines were checked."""
        ...

    def refused(self, refusal: Refusal) -> None: ...

    def wrote(self, lines: int, tally: "Tally") -> None:
        """A batch is done, `lines` more with those that were refused."""
        ...

    def stopping(self) -> bool:
        """Whether to stop after this batch."""
        ...


@dataclass(slots=True, kw_only=True)
class Tally:
    """What became of the lines so far."""

    results: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    replayed: int = 0
    """Lines of batches that an earlier run had written."""
    batches: int = 0
    position: int = 0
    """Of the newest commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where a load goes and how."""

    scope: Scope
    principal: str
    batch_lines: int
    items_max: int
    as_recorded: bool
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the first reading of a file found."""

    digest: str
    lines: int
    bad: "array[int]"
    """Numbers of the lines that are wrong by themselves, ascending."""


def check_file(file: LineFile, schema: Schema, watcher: Watcher) -> Checked:
    """Read every line and check it by the schema alone; nothing is written."""
    bad = array("Q")
    lines = 0
    for waiting in _grouped(file.lines(), CHECKED_TOGETHER):
        for line, error in _wrong_lines(waiting, schema):
            bad.append(line.number)
            watcher.refused(Refusal(line=line.number, error=error, text=line.text))
        lines += len(waiting)
        watcher.checked(len(waiting))
    return Checked(digest=file.digest(), lines=lines, bad=bad)


class Loader:
    """Writes the lines of checked files."""

    def __init__(
        self, writer: Writer, store: MemoryStore, plan: Plan, watcher: Watcher, sleep: Sleep = time.sleep
    ) -> None:
        self._writer = writer
        self._store = store
        self._plan = plan
        self._watcher = watcher
        self._sleep = sleep
        self.tally = Tally()
        self.done = 0
        """The number of the last line that is done: of the current file, with all before it."""

    def load(self, file: LineFile, checked: Checked, *, after: int = 0) -> int | None:
        """Write the lines after line `after`, which must be the last of a batch.

        Gives the number of the last line that is done where the watcher stops it, `None` at the end of the file.
        Raises what the writer raises for a store that cannot be reached; what lies up to `done` is written.
        """
        self.done = after
        bad = iter(checked.bad)
        next_bad = next(bad, None)
        for batch in self._batches(file, after):
            good: list[Line] = []
            for line in batch:
                while next_bad is not None and next_bad < line.number:
                    next_bad = next(bad, None)
                if line.number != next_bad:
                    good.append(line)
            self.tally.refused += len(batch) - len(good)
            if good:
                self._write(checked.digest, good, self._key(checked.digest, batch))
            self.done = batch[-1].number
            self.tally.batches += 1
            self._watcher.wrote(len(batch), self.tally)
            if self._watcher.stopping():
                return self.done
        return None

    def _batches(self, file: LineFile, after: int) -> Iterator[list[Line]]:
        lines = (line for line in file.lines() if line.number > after)
        if not self._plan.as_recorded:
            yield from _grouped(lines, self._plan.batch_lines)
            return
        batch: list[Line] = []
        stamp: Stamp | None = None
        for line in lines:
            if isinstance(line.item, Incorrect):
                batch.append(line)  # stands where it stands; it is set aside
                continue
            if stamp is not None and line.stamp != stamp:
                yield batch
                batch = []
            stamp = line.stamp
            batch.append(line)
            if len(batch) > self._plan.items_max:
                raise TooLarge(
                    f"the transaction up to line {line.number} has more than {self._plan.items_max} lines",
                    remedy="raise VIGENCIA_ITEMS_MAX, or give its parts recorded times of their own",
                )
        if batch:
            yield batch

    def _key(self, digest: str, lines: Sequence[Line]) -> str:
        scope = self._plan.scope
        return f"load:{digest}:{scope.namespace}:{scope.purpose}:{lines[0].number}-{lines[-1].number}"

    def _write(self, digest: str, lines: list[Line], key: str) -> None:
        """Write all of `lines` but those that are refused: as one transaction, or bisected where many are."""
        left, refusals = lines, 0
        while left:
            try:
                self._count(self._attempt(left, key, dry_run=self._plan.dry_run), len(left))
            except KeyReused:
                self._written_before(left, key)
                return
            except (Incorrect, NotFound, Conflict) as exc:
                refused = self._culprits(left, exc)
                for index, error in sorted(refused.items()):
                    self._refuse(left[index], error)
                left = [line for index, line in enumerate(left) if index not in refused]
                refusals += len(refused)
                if refusals >= BISECTED_AFTER and not self._plan.as_recorded and len(left) > 1:
                    for half in (left[: len(left) // 2], left[len(left) // 2 :]):
                        self._write(digest, half, self._key(digest, half))
                    return
            else:
                return

    def _refuse(self, line: Line, error: VigenciaError) -> None:
        self.tally.refused += 1
        self._watcher.refused(Refusal(line=line.number, error=error, text=line.text))

    def _written_before(self, lines: list[Line], key: str) -> None:
        """An earlier run wrote this range, when other lines of it were refused: it must not be written again."""
        with self._store.read(self._plan.scope) as reader:
            answered = reader.answered(self._plan.principal, key)
        items = [] if answered is None else restored(answered.receipt)["items"]
        written = len(items) if isinstance(items, list) else 0
        error = KeyReused(
            f"an earlier load wrote {written} of the lines {lines[0].number} to {lines[-1].number} and refused others",
            remedy="load the lines of its report by themselves: jq -r .text REPORT | vigencia load -",
        )
        self._refuse(lines[0], error)
        self.tally.replayed += min(written, len(lines))

    def _attempt(self, lines: Sequence[Line], key: str | None, *, dry_run: bool) -> Written:
        recorded_at = lines[0].stamp.recorded_at if self._plan.as_recorded else None
        for tries in range(BUSY_TRIES):
            try:
                return self._writer.write(
                    self._plan.scope, self._plan.principal, _items(lines),
                    dry_run=dry_run, key=None if dry_run else key, recorded_at=recorded_at,
                    authority=authority_of_files(),
                )  # fmt: skip
            except Busy:
                if tries == BUSY_TRIES - 1:
                    raise
                self._sleep(min(2.0, 0.05 * 2**tries))
        raise AssertionError("the last try returns or raises")

    def _culprits(self, lines: Sequence[Line], exc: VigenciaError) -> dict[int, VigenciaError]:
        """Which lines make the writer refuse the batch, by index: those it points at, or else the first that does."""
        pointed: dict[int, VigenciaError] = {}
        if isinstance(exc, Incorrect):
            for index in sorted({int(m[1]) for v in exc.violations if (m := _POINTED.fullmatch(v.pointer))}):
                pointed[index] = _only(exc, index)
        if pointed:
            return pointed
        if self._plan.as_recorded and any(v.pointer == "/recorded_at" for v in exc.violations):
            return dict.fromkeys(range(len(lines)), exc)
        fine, failing = 0, len(lines)  # the first `fine` lines pass, the first `failing` do not
        while failing - fine > 1:
            middle = (fine + failing) // 2
            try:
                self._attempt(lines[:middle], None, dry_run=True)
                fine = middle
            except (Incorrect, NotFound, Conflict) as narrower:
                failing, exc = middle, narrower
        return {failing - 1: exc}

    def _count(self, written: Written, lines: int) -> None:
        receipt = written.receipt
        if written.replayed:
            self.tally.replayed += lines
        else:
            items = receipt["items"]
            assert isinstance(items, list)
            self.tally.results.update(item["result"] for item in items)
        position = receipt["position"]
        assert isinstance(position, int)
        self.tally.position = position


def resume_line(token: str, digest: str) -> int | None:
    """The line after which a load of the file with this digest goes on; `None` where the token is of another file.

    A token is `DIGEST-LINE`, or a bare number of a line. Raises `Incorrect` for what is neither.
    """
    match = re.fullmatch(r"(?:([0-9a-f]{12})-)?(\d{1,12})", token)
    if match is None:
        raise Incorrect(f"{shown(token)} is no resume token; give what the interrupted load printed, or a line number")
    return int(match[2]) if match[1] in (None, digest[:12]) else None


def resume_token(digest: str, line: int) -> str:
    return f"{digest[:12]}-{line}"


def _grouped(lines: Iterator[Line], size: int) -> Iterator[list[Line]]:
    group: list[Line] = []
    for line in lines:
        group.append(line)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _wrong_lines(lines: Sequence[Line], schema: Schema) -> list[tuple[Line, VigenciaError]]:
    """Those that are wrong by themselves, in order; all are checked at once where nothing is."""
    found: list[tuple[Line, VigenciaError]] = [(line, line.item) for line in lines if isinstance(line.item, Incorrect)]
    good = [line for line in lines if not isinstance(line.item, Incorrect)]
    if not good:
        return found
    try:
        check(_items(good), schema, items_max=len(good))
    except (Incorrect, NotFound):
        found += [(line, error) for line in good if (error := _wrong(line, schema)) is not None]
        found.sort(key=lambda pair: pair[0].number)
    return found


def _wrong(line: Line, schema: Schema) -> VigenciaError | None:
    try:
        check(_items([line]), schema, items_max=1)
    except Incorrect as exc:
        return _only(exc, 0)
    except NotFound as exc:
        return exc
    return None


def _only(exc: Incorrect, index: int) -> Incorrect:
    """The part of a refusal that is about one item, as if it stood alone."""
    mine = [
        type(v)(pointer=m[2], code=v.code, detail=v.detail)
        for v in exc.violations
        if (m := _POINTED.fullmatch(v.pointer)) and int(m[1]) == index
    ]
    only = again(exc, mine)
    if mine and len(exc.violations) > 1:
        only.message = mine[0].detail
    return only


def _items(lines: Sequence[Line]) -> list[Item]:
    return [line.item for line in lines if not isinstance(line.item, Incorrect)]
