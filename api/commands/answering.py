"""How a command talks: data on stdout, everything else on stderr, and one exit code per kind of ending."""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from ontology.errors import JSON, VigenciaError

DONE: Final = 0
UNEXPECTED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
REFUSED: Final = 4
CONFLICT: Final = 5
AUTH: Final = 6
UNAVAILABLE: Final = 7
PARTIAL: Final = 8
CHECK_FAILED: Final = 9
INTERRUPTED: Final = 130

WIDE: Final = 100
"""Columns of a terminal from which on a table shows everything."""

_UNBROKEN: Final = ("from", "to", "confidence", "certainty")

EXIT_CODES: Final[Mapping[int, str]] = MappingProxyType(
    {
        DONE: "done",
        UNEXPECTED: "unexpected: a defect",
        USAGE: "wrong usage, or a value that cannot be read",
        NOT_FOUND: "not found",
        REFUSED: "refused by a rule of time or of the ontology",
        CONFLICT: "conflict, or a stale version",
        AUTH: "not permitted",
        UNAVAILABLE: "unavailable now, or the port is taken; try again",
        PARTIAL: "partial: some lines were refused; the report says which",
        CHECK_FAILED: "a check failed: `doctor`, `journal verify`",
        INTERRUPTED: "interrupted; what to do next stands on stderr",
    }
)
"""What the exit codes mean."""

EXIT_OF: Final[Mapping[str, int]] = MappingProxyType(
    {
        "invalid-request": USAGE,
        "naive-instant": USAGE,
        "future-known-at": USAGE,
        "cursor-mismatch": USAGE,
        "too-large": USAGE,
        "unsupported-format": USAGE,
        "precondition-required": USAGE,
        "method-not-allowed": USAGE,
        "not-found": NOT_FOUND,
        "forgotten": NOT_FOUND,
        "unknown-predicate": REFUSED,
        "ontology-violation": REFUSED,
        "recorded-at-not-settable": REFUSED,
        "live-data": REFUSED,
        "idempotency-key-reused": CONFLICT,
        "idempotency-in-flight": CONFLICT,
        "conflicting-claim": CONFLICT,
        "already-decided": CONFLICT,
        "version-changed": CONFLICT,
        "unauthenticated": AUTH,
        "missing-role": AUTH,
        "foreign-origin": AUTH,
        "own-review": AUTH,
        "rate-limited": UNAVAILABLE,
        "store-unavailable": UNAVAILABLE,
        "extractor-unavailable": UNAVAILABLE,
        "embedder-unavailable": UNAVAILABLE,
        "issuer-unavailable": UNAVAILABLE,
        "internal": UNEXPECTED,
    }
)
"""The exit code of each problem type."""


FIX_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        "invalid-request": "correct it and run the command again; --help tells what it takes",
        "unsupported-format": "give what the message names",
        "conflicting-claim": "look at what is stored, then decide again",
        "version-changed": "look at what is stored now, then decide again",
        "ontology-violation": "correct it, or extend the schema: vigencia init --pack FILE",
        "store-unavailable": "run the command again in a moment",
        "internal": "report it, with the command and what stands above",
    }
)
"""What to do where the error does not say: the fixes of PROBLEMS speak of requests, which nobody sent."""


class Out:
    """Where a command writes its answer."""

    def __init__(self, *, as_json: bool, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet

    def document(self, document: "JSON") -> None:
        """One JSON document on stdout."""
        import orjson

        sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")

    def line(self, text: str = "") -> None:
        """A line of the answer for people."""
        sys.stdout.write(printable(text) + "\n")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], narrow: Collection[str] = ()) -> None:
        """Rows for people: a table on a terminal, tab-separated without a header elsewhere.

        A terminal of less than 100 columns does without those in `narrow`.
        """
        if not sys.stdout.isatty():
            for row in rows:
                self.line("\t".join(cell.replace("\t", " ") for cell in row))
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console()
        kept = [i for i, name in enumerate(columns) if console.width >= WIDE or name not in narrow]
        table = Table(box=None, header_style="bold", pad_edge=False)
        for index in kept:
            table.add_column(columns[index], overflow="fold", no_wrap=columns[index] in _UNBROKEN)
        for row in rows:
            table.add_row(*(Text(printable(row[index])) for index in kept))
        console.print(table)

    def tell(self, text: str) -> None:
        """A hint on stderr, unless the caller wants quiet."""
        if not self.quiet:
            tell(text)


@contextmanager
def answering(*, as_json: bool, quiet: bool = False) -> Iterator[Out]:
    """Turn what is raised on purpose into a problem on stderr, with `--json` on stdout too, and an exit code."""
    out = Out(as_json=as_json, quiet=quiet)
    try:
        yield out
        sys.stdout.flush()
    except KeyboardInterrupt:
        tell("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _close_stdout()
        raise typer.Exit(DONE) from None
    except Exception as exc:
        from ontology.errors import VigenciaError

        if not isinstance(exc, VigenciaError):
            raise
        show_problem(exc, out)
        raise typer.Exit(EXIT_OF[exc.slug]) from None


def show_problem(error: "VigenciaError", out: Out) -> None:
    """The problem for people, and for programs where they asked for JSON."""
    tell(f"{error.slug}: {error.message}")
    for violation in error.violations[:20]:
        if violation.detail not in error.message:
            tell(f"  {violation.pointer or '/'} {violation.code}: {violation.detail}")
    if len(error.violations) > 20:
        tell(f"  and {len(error.violations) - 20} more")
    tell(f"  → {_remedy(error)}")
    if out.as_json:
        out.document(problem_of(error))


def problem_of(error: "VigenciaError") -> dict[str, "JSON"]:
    """The problem document of an error, as the API gives it."""
    from api.problems import problem_document

    return problem_document(
        error.slug,
        error.message,
        request_id="",
        remedy=_remedy(error),
        violations=error.violations,
        members=error.members,
    )


def _remedy(error: "VigenciaError") -> str:
    return error.remedy or FIX_OF.get(error.slug, error.problem.fix)


def tell(text: str) -> None:
    """A line on stderr."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


def printable(text: str) -> str:
    """`text` without what a terminal would obey: control characters are shown, not sent."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def _close_stdout() -> None:
    """The reader of a pipe has gone: nothing more is written, at exit neither."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
