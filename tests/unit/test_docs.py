"""Is everything that a user or a contributor can meet named in the documents?"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer
import yaml

from api.agents.offer import offered
from api.agents.prompts import PROMPTS
from api.agents.resources import RESOURCES, TEMPLATES
from api.app import GROUPS
from api.cli import app
from api.commands.answering import EXIT_CODES, EXIT_OF
from api.load_items import MEMBERS
from api.load_lines import read_mapping
from api.problems import ALL_PROBLEMS, STATUS
from api.settings import Settings, variable_of
from consolidation.receipts import Result
from ontology.values import ValueType

ROOT: Final = Path(__file__).resolve().parents[2]
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING: Final = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROWS: Final = {
    cells[0].strip("`"): cells[1:]
    for line in README.splitlines()
    if line.startswith("| ")
    for cells in [[cell.strip() for cell in line.strip("| ").split(" | ")]]
}


def commands(group: typer.Typer, before: str) -> Iterator[str]:
    for command in group.registered_commands:
        assert command.callback is not None
        yield f"{before} {command.name or command.callback.__name__}"
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from commands(inner.typer_instance, f"{before} {inner.typer_instance.info.name}")


def test_every_command_is_named() -> None:
    named = " ".join(ROWS)
    assert [name for name in commands(app, "vigencia") if name not in named] == []


def test_every_setting_is_named_with_its_default() -> None:
    for name, field in Settings.model_fields.items():
        default, meaning = ROWS[variable_of(name)]
        assert default.strip("`") == ("" if field.default is None else str(field.default)), name
        assert meaning == field.description, name


def test_no_setting_is_named_that_is_none() -> None:
    known = {variable_of(name) for name in Settings.model_fields} | {"VIGENCIA_CONFIG", "VIGENCIA_SOAK"}
    text = README + CONTRIBUTING + (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"VIGENCIA_[A-Z_]+", text)) - known == set()


def test_every_route_is_named_and_none_that_is_none() -> None:
    routes = {f"{r.method} {r.path.replace(':path', '')}" for group in GROUPS for r in group.listed}
    assert {row for row in ROWS if row.split()[0] in ("GET", "POST", "PUT", "DELETE")} == routes


def test_every_tool_resource_and_prompt_of_agents_is_named() -> None:
    modes: tuple[Any, ...] = ("review", "memory")
    tools = [tool.name for mode in modes for tool in offered(Settings(mcp_tools=mode))]
    prompts = [each.declared.name for each in PROMPTS]
    addresses = [each.uri for each in RESOURCES] + [f"{each.name}/ID" for each in TEMPLATES]
    assert [name for name in (*tools, *prompts, *addresses) if f"`{name}`" not in README] == []


def test_every_problem_type_is_named_with_its_status_and_exit_code() -> None:
    for slug, problem in ALL_PROBLEMS.items():
        assert ROWS[slug] == [str(STATUS[slug]), str(EXIT_OF[slug]), problem.title, problem.fix]


def test_every_exit_code_is_named() -> None:
    assert {str(code): ROWS[str(code)] for code in EXIT_CODES} == {str(c): [text] for c, text in EXIT_CODES.items()}


def test_every_result_operation_and_type_of_value_is_named() -> None:
    words = set(re.findall(r"[a-z]+", README))
    assert {result.value for result in Result} - words == set()
    assert set(MEMBERS) - words == set()
    assert {kind.value for kind in ValueType} - words == set()


def test_every_make_target_that_a_newcomer_needs_is_named() -> None:
    assert re.search(r"^make serve ", README, re.MULTILINE)
    assert re.search(r"^make test ", README, re.MULTILINE)
    assert "make soak" in README


def test_the_examples_of_yaml_can_be_read() -> None:
    from api.auth.key_file import read_keys
    from api.source_file import read_sources

    mapping, keys, sources = re.findall(r"```yaml\n(.+?)\n```", README, re.DOTALL)
    assert len(read_mapping(mapping).members) == 6
    read_keys(keys)
    read_sources(sources)
    documents: list[Any] = [
        yaml.safe_load(text) for text in re.findall(r"```yaml\n(.+?)\n```", CONTRIBUTING, re.DOTALL)
    ]
    assert all(documents)


def test_what_the_guide_names_is_there() -> None:
    paths = re.findall(r"`((?:ontology|graph|consolidation|api|tests|benchmarks)/[\w./]+)`", CONTRIBUTING)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_change_log_has_the_version() -> None:
    import tomllib

    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
