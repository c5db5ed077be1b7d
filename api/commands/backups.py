"""`vigencia backup` and `restore`: everything into one file that forgetting reaches, and back into an empty store."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final

import typer

from api.commands import options
from api.commands.answering import INTERRUPTED, answering, tell
from api.commands.files import STREAM, counted, next_phase, written

if TYPE_CHECKING:
    from api.backup_keys import KeyFile
    from api.settings import Settings
    from graph.backup_lines import Ended
    from graph.ports import MemoryStore
    from ontology.errors import JSON
    from ontology.scope import Tenant

GZIP: Final = b"\x1f\x8b"
LEVEL: Final = 1
"""Of the compression: what is sealed does not become smaller, however long one tries."""

OneTenant = Annotated[str | None, typer.Option("--tenant", help="One tenant; all of the store if left out.")]
ShowProgress = Annotated[str, typer.Option("--progress", help="auto, json or none.")]


def backup(
    file: Annotated[str, typer.Argument(help="Where to; packed where it ends in .gz.")],
    tenant: OneTenant = None,
    progress: ShowProgress = "auto",
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a backup, in which everything is sealed under a key of whom it is about; others may read and write.

    vigencia backup memory.backup.gz

    vigencia backup acme.backup --tenant acme --json

    It needs VIGENCIA_BACKUP_KEYS and VIGENCIA_MASTER_KEY_FILE, and makes the key file if there is none; what is
    forgotten later loses its key there. The backup appears under its name when it is complete.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.settings import read_settings
        from api.wiring import services
        from graph.backup import back_up
        from graph.sealing import Sealing
        from ontology.errors import Incorrect
        from ontology.scope import Tenant, check_name

        if file == STREAM:
            raise Incorrect("a backup goes to a file, so that it has its name only when it is complete; name one")
        settings = read_settings(store=store, tenant=tenant)
        key_file = _key_file(settings)
        with services(settings, must_exist=True) as opened:
            tenants = _tenants(opened.store, None if tenant is None else Tenant(check_name(tenant, "tenant")), settings)
            new = not key_file.exists()
            opened.forgetter.resume()
            tree = key_file.read_or_make().newest
            if new:
                out.tell(f"made the key file {key_file.path}: no backup can be read without it and the master key, so")
                out.tell("keep copies of both, apart from the backups; that of the key file anew after each forget")
            with (
                counted(progress, quiet, "backing up") as (bar, told),
                written(file) as stream,
                _packed(stream, file) as packed,
            ):
                done = back_up(
                    opened.store, tenants, Sealing(tree.keys, opened.randomness), packed.write,
                    tree=tree.name, made_at=opened.clock.now(), progress=told,
                )  # fmt: skip
                bar.end()
        if as_json:
            out.document({"tenants": _documents(done.tenants), "events": done.events, "left_out": done.left_out})
        else:
            out.table(("tenant", "events", "position", "digest"), _rows(done.tenants))
            if done.left_out:
                out.tell(f"left out {done.left_out} payloads of whom nothing may be kept, since they were forgotten")


def restore(
    file: Annotated[str, typer.Argument(help="What `vigencia backup` wrote.")],
    resume: Annotated[
        bool, typer.Option("--resume", help="Pass over what an interrupted restore of this backup wrote.")
    ] = False,
    forgotten_in: Annotated[
        str | None, typer.Option("--forgotten-in", metavar="URL", help="A store whose tombstones count, too.")
    ] = None,
    progress: ShowProgress = "auto",
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Bring a backup into an empty store; all of it is checked before anything is written.

    vigencia restore memory.backup.gz --store sqlite:///again.db

    vigencia restore memory.backup.gz --store bolt://localhost:7687 --json

    What was forgotten since stays forgotten: the key file knows of it. Where the old store forgot without the key file,
    name that with --forgotten-in. Exit code 5 where the store is not empty.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.settings import read_settings
        from api.wiring import services
        from consolidation.forgetting.again import Again
        from graph.backup_lines import tree_of
        from graph.restore import restore as bring_back
        from graph.sealing import Sealing
        from ontology.errors import NotFound, shown

        settings = read_settings(store=store)
        key_file, path = _key_file(settings), Path(file)
        if forgotten_in is not None:
            with services(read_settings(store=forgotten_in), must_exist=True) as other:
                other.forgetter.resume()
        ring = key_file.read()
        if not path.is_file():
            raise NotFound(f"there is no file {shown(file)}", remedy="check its name")
        tree = ring.tree(tree_of(_lines(path)))
        with services(settings) as opened, counted(progress, quiet, "checking") as (bar, checked), _resumable():
            key_file.begin_tree()  # first: without it what comes after the backup might have no key
            again = Again(store=opened.store, clock=opened.clock, randomness=opened.randomness)
            done = bring_back(
                opened.store, lambda: _lines(path), Sealing(tree.keys, opened.randomness), tree=tree.name,
                now=opened.clock.now(), resume=resume, checking=checked, progress=next_phase(bar, "restoring"),
                forget_again=lambda tenant, gone: again.forget(tenant, ring.tombstones(tenant), gone),
            )  # fmt: skip
            bar.end()
        if as_json:
            out.document(
                {
                    "tenants": _documents(done.tenants), "events": done.events, "unreadable": done.unreadable,
                    "forgotten": done.forgotten,
                    "keys": done.keys, "owners": done.owners, "queued": done.queued,
                }
            )  # fmt: skip
            return
        out.table(("tenant", "events", "position", "digest"), _rows(done.tenants))
        out.tell(
            f"{done.keys} keys, {done.owners} owners of namespaces, {done.queued} episodes to be read; "
            f"{done.forgotten} tombstones were applied again, and {done.unreadable} payloads left out or cut for them"
        )


def _tenants(store: "MemoryStore", named: "Tenant | None", settings: "Settings") -> "list[Tenant]":
    """Those to back up, by name: whoever has memory, and the one of the settings where it has keys alone."""
    from ontology.errors import NotFound, shown
    from ontology.scope import Tenant

    there = set(store.tenants())
    own = named or Tenant(settings.tenant)
    if store.access.keys(own, limit=1, after=""):
        there.add(own)
    if named is None:
        return sorted(there)
    if named not in there:
        raise NotFound(f"the store has nothing of the tenant {shown(named)}", remedy="leave --tenant out for all")
    return [named]


def _key_file(settings: "Settings") -> "KeyFile":
    from api.wiring import key_file_of
    from ontology.errors import Incorrect

    found = key_file_of(settings)
    if found is None:
        raise Incorrect(
            "backups need keys, and neither VIGENCIA_BACKUP_KEYS nor VIGENCIA_MASTER_KEY_FILE is set",
            remedy="make a master key, `openssl rand -hex 32 > master.key`, name it and a key file with them",
        )
    return found


@contextmanager
def _packed(stream: BinaryIO, file: str) -> Iterator[BinaryIO]:
    if not file.endswith(".gz"):
        yield stream
        return
    import gzip

    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, compresslevel=LEVEL, mtime=0) as packed:
        yield packed  # type: ignore[misc]


def _lines(path: Path) -> Iterator[bytes]:
    import gzip

    from ontology.errors import Incorrect, Unavailable, shown

    try:
        with path.open("rb") as stream:
            is_packed = stream.read(len(GZIP)) == GZIP
        with gzip.open(path) if is_packed else path.open("rb") as lines:
            yield from lines
    except (EOFError, gzip.BadGzipFile, zlib.error) as exc:
        told = f"the backup {shown(str(path), 400)} cannot be unpacked: {exc}; it is cut or damaged"
        raise Incorrect(told, remedy="give a copy of the backup that is whole, or another backup") from exc
    except OSError as exc:
        raise Unavailable(f"the backup {shown(str(path), 400)} cannot be read: {exc.strerror}") from exc


@contextmanager
def _resumable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        tell("interrupted; what is restored so far is no whole memory: do not serve it")
        tell("go on with the same command and --resume, or begin again with an empty store")
        raise typer.Exit(INTERRUPTED) from None


def _documents(tenants: "dict[Tenant, Ended]") -> "dict[str, JSON]":
    return {
        tenant: {"events": ended.events, "position": ended.position, "digest": ended.digest.hex()}
        for tenant, ended in tenants.items()
    }


def _rows(tenants: "dict[Tenant, Ended]") -> list[list[str]]:
    return [[tenant, str(e.events), str(e.position), e.digest.hex()] for tenant, e in tenants.items()]
