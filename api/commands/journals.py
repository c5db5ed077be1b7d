"""`vigencia journal`: take the journal out, bring one in, and verify that it holds."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.commands import options
from api.commands.answering import CHECK_FAILED, INTERRUPTED, Out, answering, tell
from api.commands.files import STREAM, counted, written

if TYPE_CHECKING:
    from api.settings import Settings
    from graph.transfer import Transferred
    from ontology.errors import JSON

journal = typer.Typer(name="journal", help="The chain of everything that was committed.", no_args_is_help=True)

ShowProgress = Annotated[str, typer.Option("--progress", help="auto, json or none.")]


@journal.command("export")
def export(
    file: Annotated[str, typer.Argument(help="Where to; - is standard output.")] = STREAM,
    after: Annotated[int, typer.Option("--after", min=0, help="Leave out the events up to this position.")] = 0,
    progress: ShowProgress = "auto",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the journal of the tenant as JSON lines: all that a copy needs, ids and recorded times included.

    vigencia journal export memory.jsonl

    vigencia journal export - | gzip > memory.jsonl.gz

    A file appears under its name when it is complete. With --json the summary is on stdout, so name a file then.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.settings import read_settings
        from api.wiring import services
        from graph.transfer import export_events
        from ontology.errors import Incorrect
        from ontology.scope import Tenant, check_name

        if as_json and file == STREAM:
            raise Incorrect("with --json stdout has the summary; name a file for the journal")
        settings = read_settings(store=store, tenant=tenant)
        name = Tenant(check_name(settings.tenant, "tenant"))
        with (
            services(settings, must_exist=True) as opened,
            counted(progress, quiet, "exporting") as (bar, told),
            written(file) as stream,
        ):
            done = export_events(opened.store, name, stream.write, after=after, progress=told)
            bar.end()
        _show(out, done, file)


@journal.command("import")
def import_(
    file: Annotated[str, typer.Argument(help="An exported journal; - is standard input.")],
    resume: Annotated[
        bool, typer.Option("--resume", help="Pass over the events that an interrupted import had.")
    ] = False,
    progress: ShowProgress = "auto",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Bring a journal into a tenant that has no events; all of it is checked before anything is written.

    vigencia journal import memory.jsonl --store sqlite:///copy.db

    zcat memory.jsonl.gz | vigencia journal import - --tenant copy

    Exit code 5 where the tenant has events of its own. Ctrl-C says what is there then; --resume goes on.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.settings import read_settings
        from api.wiring import services
        from graph.transfer import import_events
        from ontology.scope import Tenant, check_name

        settings = read_settings(store=store, tenant=tenant)
        name = Tenant(check_name(settings.tenant, "tenant"))
        with _read(file) as path, counted(progress, quiet, "importing") as (bar, told), _resumable(settings) as stand:

            def wrote(position: int) -> None:
                stand.position = position
                told(position)

            with services(settings) as opened:
                done = import_events(
                    opened.store, name, lambda: stand.lines(path), now=opened.clock.now(), resume=resume, progress=wrote
                )
            bar.end()
        _show(out, done, file)


@journal.command()
def verify(
    refold: Annotated[
        bool, typer.Option("--refold", help="Also fold every operation again and compare with what is stored.")
    ] = False,
    file: Annotated[str | None, typer.Option("--file", help="Verify an exported journal instead of the store.")] = None,
    progress: ShowProgress = "auto",
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Check that the chain of the tenant's journal is whole; nothing is changed.

    vigencia journal verify

    vigencia journal verify --refold --json

    Exit code 9 where something does not hold.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from graph.transfer import verify_lines
        from ontology.errors import Incorrect

        if file is not None:
            if refold:
                raise Incorrect("--refold needs a store; import the file into one first")
            with _read(file) as path:
                findings = verify_lines(_lines(path))
            document: dict[str, JSON] = {"fine": not findings, "file": file, "findings": findings}
        else:
            document, findings = _verified(store, tenant, progress, quiet=quiet, refold=refold)
        if as_json:
            out.document(document)
        else:
            out.table(("what", "found"), [(name, str(found)) for name, found in document.items() if name != "findings"])
            for finding in findings:
                out.line(finding)
        if findings:
            raise typer.Exit(CHECK_FAILED)


def _verified(
    store: str | None, tenant: str | None, progress: str, *, quiet: bool, refold: bool
) -> "tuple[dict[str, JSON], list[str]]":
    from api.settings import read_settings
    from api.wiring import services
    from consolidation.verify import refold as folded_again
    from graph.ledger import ledger_hash
    from graph.transfer import verify_events
    from ontology.scope import scope_of

    settings = read_settings(store=store, tenant=tenant)
    scope = scope_of(settings.tenant)
    with services(settings, must_exist=True) as opened:
        with opened.store.read(scope) as reader:
            position = reader.head.position
        findings = verify_events(opened.store, scope.tenant)
        if refold:
            with counted(progress, quiet, "folding again") as (bar, told):
                findings += folded_again(opened.store, scope.tenant, told)
                bar.end()
        digest = ledger_hash(opened.store, scope.tenant)
    return {
        "fine": not findings,
        "position": position,
        "ledger_hash": digest,
        "refolded": refold,
        "findings": list(findings),
    }, findings


class _Stand:
    """How far an import has come, as far as this process knows."""

    def __init__(self) -> None:
        self.readings = 0
        """How often the file was begun: first to check it, then to write it."""
        self.position = 0

    def lines(self, path: Path) -> Iterator[bytes]:
        self.readings += 1
        return _lines(path)


@contextmanager
def _resumable(settings: "Settings") -> Iterator[_Stand]:
    """Say how far an import has come that is stopped, or whose store goes away: `--resume` goes on from there.

    The store is closed by then, so that it ends what was on its way.
    """
    from ontology.errors import Busy, Unavailable, VigenciaError

    stand = _Stand()
    try:
        yield stand
    except KeyboardInterrupt:
        tell("interrupted; asking the store how far it came" if stand.readings > 1 else "interrupted")
        try:
            position = _position(settings) if stand.readings > 1 else 0
            there = f"the events up to position {position} are there" if position else "nothing new was written"
        except VigenciaError as exc:
            there = f"{_at_least(stand.position)} ({exc.message})"
        tell(f"{there}; go on with the same command and --resume")
        raise typer.Exit(INTERRUPTED) from None
    except (Busy, Unavailable) as exc:
        if stand.readings < 2:
            raise
        remedy = "when the store answers, go on with the same command and --resume"
        stopped = f"the import stopped: {exc.message}; {_at_least(stand.position)}"
        raise type(exc)(stopped, slug=exc.slug, remedy=remedy, retry_after=exc.retry_after) from exc


def _at_least(position: int) -> str:
    if position:
        return f"the events up to position {position} are there, and perhaps some after it"
    return "no event of it is known to be there, but some may be"


def _position(settings: "Settings") -> int:
    """The newest of the tenant, under the lock of writers: what is on its way holds that."""
    from api.wiring import services
    from ontology.scope import scope_of

    scope = scope_of(settings.tenant)
    with services(settings, must_exist=True) as opened, opened.store.write(scope) as tx:
        return tx.head.position


def _show(out: Out, done: "Transferred", file: str) -> None:
    document: dict[str, JSON] = {"events": done.events, "position": done.position, "digest": done.digest.hex()}
    if out.as_json:
        out.document(document)
    elif file != STREAM:
        out.table(("events", "position", "digest"), [[str(found) for found in document.values()]])
    else:
        out.tell(f"{done.events} events up to position {done.position}")


@contextmanager
def _read(file: str) -> Iterator[Path]:
    """A file that can be read twice; standard input is copied first."""
    from ontology.errors import NotFound, shown

    if file != STREAM:
        if not Path(file).is_file():
            raise NotFound(f"there is no file {shown(file)}", remedy="check its name, or give - for stdin")
        yield Path(file)
        return
    with tempfile.TemporaryDirectory(prefix="vigencia-") as folder:
        path = Path(folder) / "journal"
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield path


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        yield from stream
