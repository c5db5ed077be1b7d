"""`vigencia serve`, `demo` and `init`: to begin."""

import contextlib
import logging
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.commands import options
from api.commands.answering import answering, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from api.settings import Settings
    from api.wiring import Services
    from ontology.errors import Unavailable

log = logging.getLogger("vigencia.api.serving")

Host = Annotated[str | None, typer.Option("--host", help="The address to listen on; VIGENCIA_HOST.")]
Port = Annotated[int | None, typer.Option("--port", help="The port; 0 takes a free one; VIGENCIA_PORT.")]
KeysFile = Annotated[
    Path | None, typer.Option("--keys-file", help="Bearer keys, each for one tenant; VIGENCIA_KEYS_FILE.")
]


def serve(
    demo: Annotated[bool, typer.Option("--demo", help="Record the demonstration story in an empty store.")] = False,
    host: Host = None,
    port: Port = None,
    keys_file: KeysFile = None,
    store: options.Store = None,
    quiet: options.Quiet = False,
) -> None:
    """Start the HTTP server; Ctrl-C stops it.

    vigencia serve --demo

    vigencia serve --host 0.0.0.0 --keys-file keys.yaml --store sqlite:////srv/vigencia.db

    VIGENCIA_STORE=neo4j NEO4J_PASSWORD=… vigencia serve

    Off loopback keys are required. A store that is away is waited for, VIGENCIA_STORE_WAIT_SECONDS long. Exit
    code 7 where it does not come, or the port is taken.
    """
    with answering(as_json=False, quiet=quiet) as out:
        from api.auth.opening import check_exposure
        from api.logs import JSON_FORMAT, configure, told
        from api.settings import read_settings
        from api.wiring import place_of, services, working
        from ontology.scope import scope_of

        settings = read_settings(host=host, port=port, keys_file=keys_file, store=store)
        check_exposure(settings)
        configure(settings)
        wait_seconds = settings.store_wait_seconds
        # nobody is let in before there is a store, so a caller is refused at once instead of left waiting
        with stoppable(), _bound(settings) as listener, services(settings, wait_seconds=wait_seconds) as opened:
            if demo:
                from api.demo import seed

                seed(opened, scope_of(settings.tenant))
            _listen(listener, settings)
            name, number = listener.getsockname()[:2]
            url = f"http://{f'[{name}]' if ':' in name else name}:{number}"
            kept = place_of(settings).name
            if settings.log_format == JSON_FORMAT:
                log.info("the server has begun", extra=told(store=kept, url=url))
            elif not quiet:
                out.tell(f"vigencia serves {kept} on {url}; Ctrl-C stops it")
                if demo:
                    out.tell(_to_try(url))
            with working(opened) as ready:
                _run(ready, listener)
            if settings.log_format == JSON_FORMAT:
                log.info("the server has ended")
            else:
                tell("stopped")


def demo(
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Record the story of Mira's passport in an empty store, and print what it answers.

    vigencia demo --store sqlite:///:memory:

    vigencia demo --json
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.commands.asking import Asking
        from api.demo import DEADLINE, QUESTIONS, seed_or_find
        from api.settings import read_settings
        from api.wiring import services
        from ontology.scope import scope_of

        settings = read_settings(store=store, tenant=tenant)
        with services(settings) as opened:
            seed_or_find(opened, scope_of(settings.tenant))
            asking = Asking(opened, namespace="default", purpose="general")
            answers = [
                (q, asking.state(subject=q.subject, predicate=DEADLINE, valid_at=q.valid_at, known_at=q.known_at))
                for q in QUESTIONS
            ]
        if as_json:
            out.document([{"question": q.words, "answer": answer} for q, answer in answers])
            return
        from api.commands.showing import value_text

        rows = []
        for question, answer in answers:
            values = ", ".join(value_text(fact["value"]) for fact in answer["items"])
            rows.append((question.words, values, question.valid_at or "now", question.known_at or "newest"))
        out.table(("question", "answer", "valid at", "known at"), rows)
        out.tell(f"ask for yourself: vigencia history mira {DEADLINE}, vigencia why mira {DEADLINE}")


def init(
    pack: Annotated[
        list[str] | None, typer.Option("--pack", help="A pack to add: a YAML file, or demo. May stand several times.")
    ] = None,
    recorded_at: Annotated[
        str | None,
        typer.Option(help="When the packs were recorded, for a past that `load --as-recorded` brings after them."),
    ] = None,
    tenant: options.Tenant = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Make the store, and add packs to the schema; what is there stays.

    vigencia init

    vigencia init --pack travel.yaml --store sqlite:////srv/vigencia.db

    On a Neo4j server this makes the constraints and indexes in its database; the database must be there.
    """
    with answering(as_json=as_json, quiet=quiet) as out:
        from api.commands.loading import PRINCIPAL
        from api.commands.upkeep import read_any_pack
        from api.settings import read_settings
        from api.wiring import place_of, services
        from ontology.instants import Instant, parse_instant
        from ontology.scope import scope_of

        settings = read_settings(store=store, tenant=tenant)
        scope = scope_of(settings.tenant)
        packs = [read_any_pack(name) for name in pack or []]
        recorded = None if recorded_at is None else parse_instant(recorded_at)
        with services(settings) as opened:
            for each in packs:
                opened.writer.put_schema(scope, PRINCIPAL, each, recorded_at=recorded)
                recorded = None if recorded is None else Instant(recorded + 1)
            schema = opened.writer.schema(scope)
        kept = place_of(settings).name
        if as_json:
            out.document({"store": kept, "tenant": settings.tenant, "schema_version": schema.version})
            return
        out.line(kept)
        out.tell(
            f"schema version {schema.version}, {len(schema.predicates)} predicates; next: vigencia remember, or serve"
        )


def _run(services: "Services", listener: socket.socket) -> None:
    """Serve until a signal comes, then end in order."""
    from api.server import Server

    with contextlib.suppress(KeyboardInterrupt):
        Server(services).run(sockets=[listener])


@contextlib.contextmanager
def stoppable() -> "Iterator[None]":
    """Ctrl-C and SIGTERM end the block, the first process of a container too, whom signals pass by otherwise.

    uvicorn raises the signal again when it has ended; here that is the end of the command, not of the process.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _bound(settings: "Settings") -> socket.socket:
    """A socket with the port, so that a taken one is told in our words, and soon; nobody can connect yet."""
    listener = None
    try:
        family, *_, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address[:2])
    except OSError as exc:
        if listener is not None:
            listener.close()
        raise _taken(settings, exc) from exc
    return listener


def _listen(listener: socket.socket, settings: "Settings") -> None:
    try:
        listener.listen(2048)
    except OSError as exc:
        raise _taken(settings, exc) from exc


def _taken(settings: "Settings", exc: OSError) -> "Unavailable":
    from ontology.errors import Unavailable

    return Unavailable(
        f"cannot listen on {settings.host}:{settings.port}: {exc.strerror or exc}",
        remedy=f"stop what uses the port, or take another: vigencia serve --port {settings.port + 1}",
    )


def _to_try(url: str) -> str:
    state = f"{url}/v1/state?subject=mira&predicate=passport_deadline"
    return "\n".join(
        (
            "try, in another terminal:",
            f"  curl '{state}'",
            f"  curl '{state}&valid_at=2026-06-02'",
            f"  curl '{state}&valid_at=2026-06-10&known_at=2026-06-02'",
        )
    )
