"""`vigencia load`: files of items, checked first and then written batch by batch."""

import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

from api.commands import options
from api.commands.answering import INTERRUPTED, PARTIAL, Out, answering, tell
from api.commands.progress import KINDS, Progress

if TYPE_CHECKING:
    from api.load import Loader, Refusal, Tally
    from api.load_lines import LineFile
    from ontology.errors import JSON

PRINCIPAL: Final = "person"
"""Who writes from the command line."""

STDIN: Final = "-"
_CSV: Final = (".csv", ".tsv")


def load(
    files: Annotated[list[str], typer.Argument(help="JSON lines, or CSV or TSV; .gz too; - reads stdin.")],
    as_recorded: Annotated[
        bool, typer.Option("--as-recorded", help="Honour recorded_at: neighbours with the same are one transaction.")
    ] = False,
    mapping: Annotated[
        Path | None, typer.Option("--map", metavar="YAML", help="What the columns of CSV mean; see the README.")
    ] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, max=10_000, help="How many lines a transaction has.")] = 1000,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="TOKEN", help="Go on where an interrupted load stopped.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Where refused lines are written.")
    ] = None,
    progress: Annotated[str, typer.Option("--progress", help="auto, json or none.")] = "auto",
    dry_run: options.DryRun = False,
    namespace: options.Namespace = "default",
    purpose: options.Purpose = "general",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Load files of items: check every line first, write the rest, report what is refused.

    vigencia load claims.jsonl

    vigencia load --map gdp.yaml --as-recorded gdp.csv.gz

    Exit code 8 says that some lines were refused, 130 that it was interrupted and can go on with --resume.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.load import Loader, Plan
        from api.settings import read_settings
        from api.wiring import services
        from ontology.errors import Incorrect, shown
        from ontology.scope import scope_of

        if progress not in KINDS:
            raise Incorrect(f"--progress is one of {', '.join(KINDS)}, got {shown(progress)}")
        settings = read_settings(store=store, tenant=tenant)
        plan = Plan(
            scope=scope_of(settings.tenant, namespace, purpose), principal=PRINCIPAL,
            batch_lines=min(batch, settings.items_max), items_max=settings.items_max,
            as_recorded=as_recorded, dry_run=dry_run,
        )  # fmt: skip
        with _opened(files, mapping, as_recorded=as_recorded) as opened, services(settings) as opened_services:
            kind = "none" if quiet else progress
            with Progress(kind) as bar, _Watch(bar, _report_path(files[0], report)) as watch:
                loader = Loader(opened_services.writer, opened_services.store, plan, watch)
                done = _Run(loader, opened, watch, bar, resume)
                try:
                    done.run(opened_services.writer.schema(plan.scope))
                finally:
                    done.tell_resume()
        _show(out, done, watch)
        if done.token is not None:
            raise typer.Exit(INTERRUPTED)
        if loader.tally.refused:
            raise typer.Exit(PARTIAL)


class _Run:
    """One load: which file it is in, and how it ended."""

    def __init__(
        self, loader: "Loader", files: "list[LineFile]", watch: "_Watch", bar: Progress, resume: str | None
    ) -> None:
        self.loader = loader
        self.files = files
        self.token: str | None = None
        self._watch = watch
        self._bar = bar
        self._resume = resume
        self._digest: str | None = None
        self._finished = False

    def run(self, schema: "Schema") -> None:
        from api.load import check_file, resume_line
        from ontology.errors import Incorrect

        waiting = self._resume
        for file in self.files:
            self._watch.file = file.name
            self._bar.phase(f"checking {file.name}", None)
            self._watch.begin()
            checked = check_file(file, schema, self._watch)
            self._bar.end()
            after = 0
            if waiting is not None:
                line = resume_line(waiting, checked.digest)
                if line is None:
                    continue  # an earlier file of the interrupted load
                after, waiting = line, None
            self._digest = checked.digest
            self._bar.phase(f"loading {file.name}", checked.lines)
            stopped = self.loader.load(file, checked, after=after)
            self._bar.end()
            if stopped is not None:
                return
        if waiting is not None:
            raise Incorrect(f"the resume token {waiting!r} is of another file, or of one that has changed since")
        self._finished = True

    def tell_resume(self) -> None:
        """Say how to go on, where the load did not come to its end."""
        from api.load import resume_token

        if self._finished or self._digest is None:
            return
        self.token = resume_token(self._digest, self.loader.done)
        tell(f"stopped after line {self.loader.done}; go on with --resume {self.token} and the same files")


class _Watch:
    """Shows how a load goes, writes the report, and lets Ctrl-C end it after the batch; a second one at once."""

    def __init__(self, bar: Progress, path: Path) -> None:
        self.file = ""
        self.path = path
        self.written = False
        """Whether there is a report."""
        self._bar = bar
        self._stop = False
        self._refused = 0
        self._report: IO[bytes] | None = None

    def __enter__(self) -> "_Watch":
        self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)
        if self._report is not None:
            self._report.close()

    def begin(self) -> None:
        self._refused = 0

    def checked(self, lines: int) -> None:
        self._bar.advance(lines, {"refused": self._refused} if self._refused else {})
        if self._stop:
            raise KeyboardInterrupt

    def refused(self, refusal: "Refusal") -> None:
        import orjson

        self._refused += 1
        if self._report is None:
            self._report = self.path.open("wb")
            self.written = True
        self._report.write(orjson.dumps(refusal.document(self.file)) + b"\n")

    def wrote(self, lines: int, tally: "Tally") -> None:
        counters = dict(sorted(tally.results.items()))
        for name, count in (("refused", tally.refused), ("replayed", tally.replayed)):
            if count:
                counters[name] = count
        self._bar.advance(lines, counters)

    def stopping(self) -> bool:
        return self._stop

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._stop:
            raise KeyboardInterrupt
        self._stop = True
        tell("finishing the batch; Ctrl-C again stops at once")


def _show(out: Out, run: _Run, watch: _Watch) -> None:
    tally = run.loader.tally
    report = str(watch.path) if watch.written else None
    if report is not None:
        tell(f"refused lines: {report}")
    document: dict[str, JSON] = {
        "results": dict(sorted(tally.results.items())),
        "refused": tally.refused,
        "replayed": tally.replayed,
        "transactions": tally.batches,
        "position": tally.position,
        "report": report,
        "resume": run.token,
    }
    if out.as_json:
        out.document(document)
        return
    rows = [*sorted(tally.results.items()), ("refused", tally.refused), ("replayed", tally.replayed)]
    out.table(("result", "lines"), [(name, str(count)) for name, count in rows if count or name == "refused"])


def _report_path(first: str, given: Path | None) -> Path:
    """The report's name where none is given: beside the working directory, never over an older one."""
    if given is not None:
        return given
    stem = "stdin" if first == STDIN else Path(first).name
    path, number = Path(f"{stem}.refused.jsonl"), 1
    while path.exists():
        number += 1
        path = Path(f"{stem}.refused-{number}.jsonl")
    return path


@contextmanager
def _opened(names: list[str], mapping: Path | None, *, as_recorded: bool) -> "Iterator[list[LineFile]]":
    """The files to load. Standard input goes to a temporary file first, since a load reads twice."""
    from api.load_lines import IDENTITY, LineFile, read_mapping
    from ontology.errors import NotFound, shown

    read = None
    if mapping is not None:
        try:
            read = read_mapping(mapping.read_text(encoding="utf-8"))
        except OSError as exc:
            raise NotFound(f"the mapping {shown(str(mapping))} cannot be read: {exc.strerror}") from exc
    with tempfile.TemporaryDirectory(prefix="vigencia-") as folder:
        files = []
        for name in names:
            path = Path(name)
            if name == STDIN:
                path = Path(folder) / "stdin"
                with path.open("wb") as copy:
                    shutil.copyfileobj(sys.stdin.buffer, copy)
            elif not path.is_file():
                raise NotFound(f"there is no file {shown(name)} to load", remedy="check its name, or give - for stdin")
            is_csv = any(suffix in _CSV for suffix in path.suffixes)
            files.append(LineFile(path, name, read or (IDENTITY if is_csv else None), as_recorded=as_recorded))
        yield files


if TYPE_CHECKING:
    from ontology.schema import Schema
