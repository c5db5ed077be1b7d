"""What a process acknowledged, a line of JSON each, before it was killed."""

import json
import subprocess
from typing import Any


def lines_of(out: str) -> list[Any]:
    """The complete lines; what was cut by a kill is no acknowledgement."""
    return [json.loads(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]


def kill(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """End a process of which a line was read, and give what else it printed: all of it, and its errors.

    By the reader that gave that line: `communicate` would not see what this one has taken out of the pipe already.
    """
    process.kill()
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        return process.stdout.read(), process.stderr.read()
