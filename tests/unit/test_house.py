"""Do the files around the code keep their promises: pins, health checks, no address of this machine?"""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from api.cli import app
from api.settings import Settings, variable_of
from tests.neo4j_server import VERSION

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINNED_TAG = re.compile(r":v?\d+\.\d+\.\d+[\w.-]*$")
REGISTRY = re.compile(r"\b(?:pypi|pythonhosted|npmjs|debian)\.(?:org|com)\b|--(?:extra-)?index-url|--[t]rusted-host")
OWN_PATH = re.compile(r"(?<![\w.])/[w]ork\b")


def compose() -> dict[str, Any]:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert isinstance(document, dict)
    return document


def tracked_files() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git clone, so no list of tracked files")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for name in listing.split("\0") if name and (path := ROOT / name).is_file()]


def test_every_image_is_pinned_to_a_full_version() -> None:
    images = [service["image"] for service in compose()["services"].values()]
    bases = re.findall(r"^FROM (\S+)", (ROOT / "api/Dockerfile").read_text(), re.MULTILINE)
    assert bases
    assert [image for image in images + bases if not PINNED_TAG.search(image)] == []


def test_the_image_of_the_server_carries_the_version_of_the_project() -> None:
    services = compose()["services"]
    assert {services[name]["image"] for name in ("vigencia", "worker")} == {f"vigencia:{PROJECT['version']}"}


def test_the_database_is_of_the_release_that_is_tested() -> None:
    assert compose()["services"]["neo4j"]["image"] == f"neo4j:{VERSION}-community"


def test_every_service_has_a_health_check_and_listens_on_loopback_only() -> None:
    for name, service in compose()["services"].items():
        assert service["healthcheck"]["test"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name


def test_what_a_service_mounts_is_declared() -> None:
    document = compose()
    for service in document["services"].values():
        assert set(service.get("secrets", ())) <= set(document["secrets"])
        assert {volume.split(":")[0] for volume in service.get("volumes", ())} <= set(document["volumes"])
    assert {volume.split(":")[0] for volume in document["services"]["neo4j"]["volumes"]} == set(document["volumes"])


def test_a_password_is_required_and_stands_nowhere() -> None:
    given = r"\$\{NEO4J_PASSWORD:\?[^}]+\}"
    services = compose()["services"]
    assert re.fullmatch(f"neo4j/{given}", services["neo4j"]["environment"]["NEO4J_AUTH"])
    for name in ("vigencia", "worker"):
        assert re.fullmatch(given, services[name]["environment"]["NEO4J_PASSWORD"])
    text = (ROOT / "docker-compose.yml").read_text()
    lines = re.findall(r"(?im)^\s*\w*(?:password|auth)\w*: (.+)$", text)
    assert [value for value in lines if not re.fullmatch(f"(neo4j/)?{given}", value)] == []
    assert ":-" not in text


def test_the_servers_wait_for_a_database_that_answers() -> None:
    services = compose()["services"]
    for name in ("vigencia", "worker"):
        assert services[name]["depends_on"] == {"neo4j": {"condition": "service_healthy"}}
        assert services[name]["environment"]["NEO4J_URI"] == "bolt://neo4j:7687"
        assert set(services[name]["environment"]) <= {variable_of(setting) for setting in Settings.model_fields}
    assert "cypher-shell" in services["neo4j"]["healthcheck"]["test"][1]


def test_the_database_gets_its_memory_and_its_timeouts() -> None:
    service = compose()["services"]["neo4j"]
    environment = dict(service["environment"])
    assert environment.pop("NEO4J_AUTH")
    # what the entry point of the image makes of the names
    settings = {re.sub(r"\.\.", "_", n.removeprefix("NEO4J_").replace("_", ".")): v for n, v in environment.items()}
    assert settings["server.memory.heap.initial_size"] == settings["server.memory.heap.max_size"]
    assert settings["server.memory.pagecache.size"]
    assert settings["db.lock.acquisition.timeout"] == "5s"
    assert settings["server.bolt.connection_keep_alive"] == "5s"
    assert all(service["mem_limit"] for service in compose()["services"].values())


def test_what_a_service_runs_is_a_command_of_ours() -> None:
    known = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    program, command = compose()["services"]["worker"]["command"]
    assert (program, command in known) == ("vigencia", True)
    assert '"vigencia", "serve"' in (ROOT / "api/Dockerfile").read_text()


def test_the_container_keeps_its_working_directory_off_the_path_and_is_not_root() -> None:
    final_stage = (ROOT / "api/Dockerfile").read_text().rsplit("FROM ", 1)[1]
    assert "PYTHONSAFEPATH=1" in final_stage
    assert re.search(r"^USER (?!root)\w+$", final_stage, re.MULTILINE)


def test_constraints_are_names_and_versions_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.!+-]+", line)] == []


def test_every_dependency_is_pinned() -> None:
    pinned = {canonicalize_name(line.split("==")[0]) for line in (ROOT / "constraints.txt").read_text().splitlines()}
    extras = PROJECT["optional-dependencies"].values()
    wanted = {canonicalize_name(Requirement(text).name) for text in chain(PROJECT["dependencies"], *extras)}
    assert wanted - pinned == set()


def test_every_make_target_says_what_it_does() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[0].split()
    assert set(re.findall(r"^([a-z0-9-]+):.*## \S", makefile, re.MULTILINE)) == set(phony)


def test_no_tracked_file_names_a_registry_or_a_path_of_the_machine_it_was_written_on() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked_files()
        for pattern in (REGISTRY, OWN_PATH)
        if (match := pattern.search(path.read_text(errors="ignore")))
    ]
    assert found == []


KNOWS_STORES = {ROOT / "api" / "wiring.py", ROOT / "api" / "settings.py"}
"""Who opens them, and who reads where they are."""
STORE = re.compile("sqlite|neo4j", re.IGNORECASE)


def named_stores(path: Path) -> Iterator[str]:
    """What of the code in a file names a store: words for people, such as docstrings and examples, do not count."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [str(getattr(node, field)) for field in ("id", "attr", "arg", "name", "module") if hasattr(node, field)]
        compared = [*node.comparators, node.left] if isinstance(node, ast.Compare) else []
        compared += [node.value] if isinstance(node, ast.MatchValue) else []
        names += [str(each.value) for each in compared if isinstance(each, ast.Constant)]
        yield from (f"{path.relative_to(ROOT)}: {name}" for name in names if STORE.search(name))


def test_nobody_asks_which_store_it_is() -> None:
    files = [file for part in ("ontology", "graph", "consolidation", "api") for file in (ROOT / part).rglob("*.py")]
    others = [file for file in files if file not in KNOWS_STORES and not STORE.search(str(file.relative_to(ROOT)))]
    assert len(others) > 80
    assert [name for file in others for name in named_stores(file)] == []
    assert all(list(named_stores(file)) for file in KNOWS_STORES)


def test_help_of_the_server_for_tests_starts_none() -> None:
    command = [sys.executable, "-m", "tests.neo4j_server", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "VIGENCIA_TEST_NEO4J_URI" in done.stdout, done.stderr) == (0, True, "")
    assert "bolt://" not in done.stdout
