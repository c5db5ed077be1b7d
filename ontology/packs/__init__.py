"""How a pack is written in YAML, and the packs that come with Vigencia.

The YAML is a plain one: every scalar is a string but `true`, `false` and null, so `no`, `1.50` and `2018-05`
stay what they look like; a key stands once; there are no aliases, no tags and one document.
"""

import re
from collections.abc import Mapping
from importlib import resources
from typing import ClassVar, Final, Protocol

import yaml

from ontology.errors import Incorrect, TooLarge, Violation, shown
from ontology.schema import EMPTY, Schema
from ontology.schema_document import pack_from_document
from ontology.schema_merge import Pack, merge

YAML_BYTES_MAX: Final = 1_000_000
YAML_DEPTH_MAX: Final = 20

_WORDS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_pack(text: str) -> Pack:
    """The pack that YAML `text` describes.

    Raises `TooLarge` above 1 MB, `Incorrect` with the line of what is no plain YAML or the pointer of what is no pack.
    """
    if len(text) > YAML_BYTES_MAX or len(text.encode("utf-8", "replace")) > YAML_BYTES_MAX:
        raise TooLarge(f"the pack has more than {YAML_BYTES_MAX} bytes; split it")
    try:
        node = yaml.compose(text, Loader=_PlainLoader)
    except yaml.MarkedYAMLError as exc:
        raise _unreadable(exc.problem or "not YAML", exc.problem_mark) from None
    except yaml.reader.ReaderError as exc:
        raise _unreadable(f"the character {chr(int(exc.character))!r} at position {exc.position}", None) from None
    return pack_from_document(None if node is None else _plain(node))


def builtin_pack(name: str) -> Pack:
    """One of the packs in this folder, `core` or `demo`."""
    return read_pack((resources.files(__name__) / f"{name}.yaml").read_text(encoding="utf-8"))


def load_core() -> Schema:
    """The schema that every tenant starts from: version 1, the core pack alone."""
    return merge(EMPTY, builtin_pack("core")).schema


class _PlainLoader(yaml.SafeLoader):
    """Only composes: nothing is resolved or constructed, and what a pack does not need is refused on the way."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}  # type: ignore[misc]
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.NodeEvent = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _unreadable("aliases are not allowed; write it out", event.start_mark)
        if getattr(event, "tag", None) is not None:
            raise _unreadable("tags are not allowed; remove the '!'", event.start_mark)
        if self.depth == YAML_DEPTH_MAX:
            raise _unreadable(f"nested deeper than {YAML_DEPTH_MAX} levels; no pack needs that", event.start_mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _plain(node: yaml.Node) -> object:
    match node:
        case yaml.MappingNode():
            return _mapping(node)
        case yaml.SequenceNode():
            return [_plain(item) for item in node.value]
        case yaml.ScalarNode(style=None) if node.value in _WORDS:
            return _WORDS[node.value]
    return node.value


def _mapping(node: yaml.MappingNode) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _unreadable("a key must be a word or a quoted text; rewrite it", key.start_mark)
        if key.value in found:
            raise _unreadable(f"the key {shown(key.value)} stands twice; remove one", key.start_mark)
        found[key.value] = _plain(item)
    return found


class _Mark(Protocol):
    line: int
    column: int


def _unreadable(problem: str, mark: _Mark | None) -> Incorrect:
    detail = f"line {mark.line + 1}, column {mark.column + 1}: {problem}" if mark else problem
    violation = Violation(pointer="", code="unreadable_yaml", detail=detail)
    return Incorrect(f"the YAML cannot be read, {detail}", violations=(violation,))
