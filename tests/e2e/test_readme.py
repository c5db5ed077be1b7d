"""Do the curl lines of the README answer what it says they answer?"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.command_line import CommandLine
from tests.e2e.test_cli_serving import Server, serving
from tests.neo4j.stores import NAME as NEO4J
from tests.neo4j.stores import marked

README: Final = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
ADDRESS: Final = "http://127.0.0.1:8321"
EXAMPLES: Final = re.findall(r"```sh\n(curl .+?)\n```\n```json\n(.+?)\n```", README, re.DOTALL)


@pytest.fixture(scope="module", params=marked(("sqlite", NEO4J)))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    line = CommandLine(tmp_path_factory.mktemp("readme"))
    if request.param == NEO4J:
        line.keep_on_neo4j()
    with serving(line, "--demo") as server:
        for command, _ in EXAMPLES:
            if "/v1/recall" in command:
                _warm(server, command)
        yield server


def _warm(server: Server, command: str) -> None:
    """Ask until time cuts nothing off: a graph server that has just begun plans each query when it first comes."""
    for _ in range(10):
        if "milliseconds" not in json.dumps(_asked(server, command)["truncated"]):
            return


def _asked(server: Server, command: str) -> Any:
    done = subprocess.run(
        ["bash", "-c", command.replace(ADDRESS, server.url)], capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(done.stdout)


def test_every_curl_line_has_its_answer() -> None:
    assert len(EXAMPLES) == README.count("```sh\ncurl ") == README.count("```json\n")
    assert len(EXAMPLES) >= 8
    assert all(ADDRESS in command for command, _ in EXAMPLES)


@pytest.mark.parametrize(("command", "answer"), EXAMPLES)
def test_a_curl_line_gives_its_answer(server: Server, command: str, answer: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl on this machine")
    assert_shown(json.loads(answer), _asked(server, command))


def assert_shown(shown: Any, given: Any) -> None:
    """Everything that is shown is given: members may be left out, elements of a list may not."""
    if isinstance(shown, dict):
        assert shown.keys() <= given.keys()
        for name, inner in shown.items():
            assert_shown(inner, given[name])
    elif isinstance(shown, list):
        assert len(shown) == len(given)
        for one, other in zip(shown, given, strict=True):
            assert_shown(one, other)
    else:
        assert shown == given
