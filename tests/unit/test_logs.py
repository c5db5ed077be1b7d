"""The log says where something went wrong and never what memory holds, in both of its formats."""

import json
import logging
import logging.config
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.logs import AUDIT, JsonFormatter, TextFormatter, configure, told
from api.settings import Settings, read_settings
from ontology.errors import Incorrect

MARKER = "zqx said this"


def record(error: BaseException | None = None, **fields: object) -> logging.LogRecord:
    info = None if error is None else (type(error), error, error.__traceback__)
    made = logging.LogRecord("vigencia.test", logging.INFO, __file__, 1, "request %s failed", ("req_1",), info)
    if fields:
        made.__dict__ |= told(**fields)
    return made


def raised() -> BaseException:
    try:
        try:
            raise KeyError(MARKER)
        except KeyError as exc:
            raise RuntimeError(f"about {MARKER}") from exc
    except RuntimeError as exc:
        return exc


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()], ids=["text", "json"])
def test_an_exception_is_told_by_types_and_lines_without_its_message(formatter: logging.Formatter) -> None:
    text = formatter.format(record(raised()))

    assert MARKER not in text
    assert all(word in text for word in ("RuntimeError", "KeyError", "test_logs.py", "in raised", "req_1"))


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()], ids=["text", "json"])
def test_what_another_formatter_left_of_an_exception_is_not_told(formatter: logging.Formatter) -> None:
    failed = record(raised())
    assert MARKER in logging.Formatter().format(failed)

    assert MARKER not in formatter.format(failed)


def test_every_exception_of_a_group_is_told_and_a_circle_ends() -> None:
    first, second = ValueError(MARKER), TypeError(MARKER)
    first.__context__, second.__context__ = second, first
    told_of = json.loads(JsonFormatter().format(record(ExceptionGroup(MARKER, [first, second]))))["error"]

    assert {"ExceptionGroup", "ValueError", "TypeError"} <= set(told_of)
    assert MARKER not in str(told_of)


def test_a_line_of_json_is_one_document_with_the_fields() -> None:
    line = JsonFormatter().format(record(route="/v1/state", principal='a "b"\nc', subjects=["ent_1"], none=None))

    document = json.loads(line)
    assert "\n" not in line
    assert document["message"] == "request req_1 failed"
    assert (document["level"], document["logger"]) == ("info", "vigencia.test")
    assert (document["principal"], document["subjects"], document["none"]) == ('a "b"\nc', ["ent_1"], None)
    assert document["time"].endswith("+00:00")


def test_a_field_cannot_begin_a_line_of_its_own() -> None:
    line = TextFormatter().format(record(principal="ann\n2026 ERROR forged", route="/v1/state", empty=""))

    assert "\n" not in line
    assert line.endswith(r"principal='ann\n2026 ERROR forged' route=/v1/state empty=''")


@pytest.fixture
def untouched() -> Iterator[None]:
    """The logging of the tests, as it was before."""
    names = ("vigencia", AUDIT)
    before = {name: (logging.getLogger(name).handlers[:], logging.getLogger(name).level) for name in names}
    root, level, hook = logging.getLogger().handlers[:], logging.getLogger().level, threading.excepthook
    yield
    for name, (handlers, was) in before.items():
        logging.getLogger(name).handlers[:] = handlers
        logging.getLogger(name).setLevel(was)
        logging.getLogger(name).propagate = True
    logging.getLogger().handlers[:] = root
    logging.getLogger().setLevel(level)
    threading.excepthook = hook


def settings(**given: object) -> Settings:
    return read_settings(store="sqlite:///:memory:", **given)


@pytest.mark.usefixtures("untouched")
def test_the_audit_has_a_file_of_its_own_that_no_level_turns_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "audit.jsonl"
    configure(settings(log_level="error", audit_file=file))
    logging.getLogger(AUDIT).info("read", extra=told(principal="ann"))
    logging.getLogger("vigencia.test").info("nothing")

    assert [json.loads(line)["principal"] for line in file.read_text().splitlines()] == ["ann"]
    assert capsys.readouterr().err == ""
    file.rename(tmp_path / "rotated.jsonl")
    logging.getLogger(AUDIT).info("read", extra=told(principal="ben"))
    assert json.loads(file.read_text())["principal"] == "ben"


@pytest.mark.usefixtures("untouched")
def test_an_audit_that_cannot_be_written_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(Incorrect, match="audit cannot be written") as refused:
        configure(settings(audit_file=tmp_path / "nowhere" / "audit.jsonl"))

    assert [v.pointer for v in refused.value.violations] == ["/audit_file"]


@pytest.mark.usefixtures("untouched")
def test_a_thread_that_dies_is_logged_without_the_words_of_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    configure(settings(log_format="json"))

    def die() -> None:
        raise RuntimeError(MARKER)

    thread = threading.Thread(target=die, name="the reader")
    thread.start()
    thread.join()
    [line] = capsys.readouterr().err.splitlines()
    document = json.loads(line)
    assert (document["level"], document["message"]) == ("critical", "the thread 'the reader' died")
    assert document["error"][0] == "RuntimeError"
    assert MARKER not in line
