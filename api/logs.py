"""How the log looks, and what it never says: nothing of memory, whatever an exception has in its words.

Everything goes to stderr; stdout is for data. Of an exception the log has the types and the lines of the code, not the
message: a message may quote a value, a name or a sentence that somebody said.
"""

import logging
import logging.config
import threading
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from ontology.errors import Incorrect, Violation, shown

if TYPE_CHECKING:
    from api.settings import Settings

AUDIT: Final = "vigencia.audit"
"""The logger of who read what is sensitive."""
REQUESTS: Final = "vigencia.requests"
"""The logger of requests that are over."""
JSON_FORMAT: Final = "json"

log = logging.getLogger("vigencia.api.logs")


def configure(settings: "Settings") -> None:
    """Let this process log as the settings say; a thread that dies is logged like everything else.

    Raises `Incorrect` where the file of the audit cannot be opened.
    """
    try:
        logging.config.dictConfig(log_settings(settings))
    except ValueError as exc:
        why = f"the audit cannot be written to {shown(str(settings.audit_file), 400)}: {exc.__cause__ or exc}"
        violation = Violation(pointer="/audit_file", code="bad_setting", detail=why)
        raise Incorrect(why, remedy="name a file in a folder that is there", violations=[violation]) from exc
    threading.excepthook = _thread_died


def log_settings(settings: "Settings") -> dict[str, Any]:
    """For `logging.config`. The audit has a level of its own: no setting of the log turns it off."""
    level = settings.log_level.upper()
    handlers: dict[str, Any] = {
        "stderr": {"class": "logging.StreamHandler", "formatter": settings.log_format, "stream": "ext://sys.stderr"},
    }
    if settings.audit_file is not None:
        handlers["audit"] = {  # a file that was moved away is opened anew, as rotation wants
            "class": "logging.handlers.WatchedFileHandler", "formatter": JSON_FORMAT, "encoding": "utf-8",
            "filename": str(settings.audit_file),
        }  # fmt: skip
    audit = "audit" if settings.audit_file is not None else "stderr"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"text": {"()": TextFormatter}, "json": {"()": JsonFormatter}},
        "handlers": handlers,
        "loggers": {
            "vigencia": {"level": level, "handlers": ["stderr"], "propagate": False},
            AUDIT: {"level": "INFO", "handlers": [audit], "propagate": False},
        },
        "root": {"level": "WARNING", "handlers": ["stderr"]},  # of libraries what goes wrong
    }


def told(**fields: object) -> dict[str, Any]:
    """The `extra` of a record with fields of its own."""
    return {"fields": fields}


def without_words(error: BaseException | None) -> list[str]:
    """An exception and what it came from, as types and lines of code."""
    lines: list[str] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        lines.append(type(error).__qualname__)
        lines += [f"{at.filename}:{at.lineno} in {at.name}" for at in traceback.extract_tb(error.__traceback__)]
        if isinstance(error, BaseExceptionGroup):
            lines += [line for inner in error.exceptions for line in without_words(inner)]
        error = error.__cause__ or error.__context__
    return lines


class TextFormatter(logging.Formatter):
    """A line for people, with the fields of the record after the message, and below it what an exception may tell."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Without `exc_text`, in which another formatter may have left all that the exception says."""
        record.message = record.getMessage()
        record.asctime = self.formatTime(record)
        line = " ".join((self.formatMessage(record), *_written(getattr(record, "fields", {}))))
        error = without_words(record.exc_info[1]) if record.exc_info else []
        return "\n  ".join((line, *error))


class JsonFormatter(logging.Formatter):
    """One JSON document a line."""

    def format(self, record: logging.LogRecord) -> str:
        document: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            document["error"] = without_words(record.exc_info[1])
        return orjson.dumps(document, default=str).decode()


def _written(fields: dict[str, object]) -> Iterator[str]:
    """`name=value`; what has spaces or quotes, or would begin a line of its own, is in quotes."""
    for name, value in fields.items():
        text = str(value)
        plain = text.isprintable() and text and not set(text) & set(" \"'=")
        yield f"{name}={text}" if plain else f"{name}={text!r}"


def _thread_died(args: threading.ExceptHookArgs) -> None:
    name = "?" if args.thread is None else args.thread.name
    log.critical("the thread %r died", name, exc_info=args.exc_value)
