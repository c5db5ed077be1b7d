"""Is every tool declared so that an agent can use it well, and so that nobody else's words stand in it?"""

import json
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]
import pytest

from api.agents.graph_tools import PACK
from api.agents.offer import offered
from api.agents.prompts import PROMPTS
from api.agents.resources import RESOURCES, TEMPLATES
from api.agents.tooling import Tool, schema_of
from api.settings import Settings
from ontology.errors import Incorrect
from ontology.packs import load_core
from ontology.schema_document import pack_from_document
from ontology.schema_merge import merge

STANDARD: Final = ["remember", "recall", "state", "history", "diff", "search", "why", "correct", "forget", "handoff"]
DELETING: Final = ["delete_entities", "delete_observations", "delete_relations"]
CREATING: Final = ["create_entities", "create_relations", "add_observations"]
WRITERS: Final = {"remember", "correct", "forget", "handoff", "decide", *CREATING, *DELETING}
MODES: Final = {
    "standard": STANDARD,
    "review": [*STANDARD, "list_held", "decide"],
    "memory": [*CREATING, *DELETING, "read_graph", "search_nodes", "open_nodes"],
}
EVERY: Final = [*offered(Settings(mcp_tools="review")), *offered(Settings(mcp_tools="memory"))]


@pytest.mark.parametrize("mode", MODES)
def test_the_tools_of_a_mode_come_in_one_order(mode: Any) -> None:
    assert [tool.name for tool in offered(Settings(mcp_tools=mode))] == MODES[mode]
    reading = offered(Settings(mcp_tools=mode, mcp_read_only=True))
    assert [tool.name for tool in reading] == [name for name in MODES[mode] if name not in WRITERS]


@pytest.mark.parametrize("tool", EVERY, ids=lambda tool: tool.name)
def test_a_tool_says_what_it_is_in_few_words(tool: Tool[Any]) -> None:
    assert 40 < len(tool.description) < 400
    assert tool.title
    assert tool.reads == (tool.name not in WRITERS)
    assert tool.destroys == (tool.name in {"forget", *DELETING})
    assert tool.repeats == (tool.name not in {"remember", "handoff"})


@pytest.mark.parametrize("tool", EVERY, ids=lambda tool: tool.name)
def test_the_schemas_of_a_tool_are_schemas_and_closed_for_arguments(tool: Tool[Any]) -> None:
    for schema in (tool.input_schema, tool.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    closed = [tool.input_schema, *tool.input_schema.get("$defs", {}).values()]
    assert all(each["additionalProperties"] is False for each in closed)
    assert {"namespace", "purpose"} <= set(tool.input_schema["properties"])
    assert not {"tenant", "principal", "grants", "recorded_at"} & set(tool.input_schema["properties"])
    assert '"title"' not in json.dumps(tool.input_schema)


@pytest.mark.parametrize("tool", EVERY, ids=lambda tool: tool.name)
def test_an_argument_that_a_tool_does_not_have_is_refused_with_what_was_meant(tool: Tool[Any]) -> None:
    with pytest.raises(Incorrect) as refused:
        tool.called(None, {"namespaces": "notes"})  # type: ignore[arg-type]  # nobody is asked
    assert {v.code for v in refused.value.violations} >= {"unknown_field"}
    assert "did you mean 'namespace'?" in str([v.detail for v in refused.value.violations])


def test_what_an_older_schema_is_given_is_what_the_core_pack_has() -> None:
    core = load_core()
    assert merge(core, pack_from_document(PACK)).schema == core


def test_a_property_that_is_named_title_stays() -> None:
    from pydantic import BaseModel

    class Book(BaseModel):
        title: str

    assert schema_of(Book)["properties"] == {"title": {"type": "string"}}


def test_a_prompt_takes_what_it_declares_and_one_line_of_it() -> None:
    prompt = next(each for each in PROMPTS if each.declared.name == "what_changed_since")
    text = prompt.text({"subject": "mira", "since": "2026-06-01"})
    assert "`mira`" in text
    assert "Namespace `default`, purpose `general`" in text
    for given in ({"subject": "mira"}, {"subject": "a\nb", "since": "x"}, {"subject": "x" * 501, "since": "x"},
                  {"subject": "mira", "since": "x", "tenant": "other"}):  # fmt: skip
        with pytest.raises(Incorrect):
            prompt.text(given)


def test_prompts_name_only_tools_that_there_are() -> None:
    import re

    known = {tool.name for tool in EVERY} | {"known_from", "valid_after"}
    for prompt in PROMPTS:
        assert set(re.findall(r"`(\w+)`", prompt.words)) <= known


def test_resources_have_addresses_of_ours() -> None:
    assert [each.uri for each in RESOURCES] == ["vigencia://ontology", "vigencia://status"]
    assert all(each.uri_template.startswith("vigencia://{namespace}/{purpose}/") for each in TEMPLATES)
