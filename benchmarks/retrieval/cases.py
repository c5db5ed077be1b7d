"""Files of questions with their evidence, as LoCoMo, BEAM and TimeQA write them: what each shape holds, and no more."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing that was said or written, and may be evidence."""

    id: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    question: str
    category: str
    evidence: frozenset[str]
    """Ids of turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is remembered together, and what is asked of it."""

    name: str
    turns: Sequence[Turn]
    asked: Sequence[Asked]
    skipped: int
    """Questions whose evidence is nowhere among the turns, as of those that have no answer."""


def read_folder(folder: Path) -> list[Case]:
    """The cases of every `*.json` and `*.jsonl` of a folder, by name. Raises `ValueError` for another shape."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".jsonl"))
    if not files:
        raise ValueError(f"no *.json and no *.jsonl in {folder}")
    return [case for path in files for case in read_file(path)]


def read_file(path: Path) -> list[Case]:
    text = path.read_text(encoding="utf-8")
    documents = [json.loads(line) for line in text.splitlines() if line.strip()] if path.suffix == ".jsonl" else None
    given = json.loads(text) if documents is None else documents
    listed = given if isinstance(given, list) else [given]
    return [_case(f"{path.stem}-{number}", each) for number, each in enumerate(listed)]


def _case(name: str, given: Any) -> Case:
    match given:
        case {"conversation": dict() as conversation, "qa": list() as asked}:
            return _made(name, list(_sessions(conversation)), [_locomo(each) for each in asked])
        case {"chat": list() as chat, "probing_questions": dict() as asked}:
            probes = [(category, each) for category, many in asked.items() for each in many]
            return _made(name, list(_messages(chat)), [_beam(category, each) for category, each in probes])
        case {"paras": list() as paragraphs, "questions": list() as asked}:
            turns = [Turn(id=str(number), speaker="", text=str(each)) for number, each in enumerate(paragraphs)]
            return _made(name, turns, [_timeqa(str(given.get("type", "timeqa")), each) for each in asked])
    members = sorted(given) if isinstance(given, Mapping) else type(given).__name__
    raise ValueError(
        f"{name} has {members}; wanted are conversation and qa, chat and probing_questions, or paras and questions"
    )


def _made(name: str, turns: Sequence[Turn], asked: Sequence[Asked]) -> Case:
    known = {turn.id for turn in turns}
    if len(known) < len(turns):
        raise ValueError(f"{name}: two turns have one id")
    kept = [each for each in asked if each.evidence and each.evidence <= known]
    return Case(name=name, turns=turns, asked=kept, skipped=len(asked) - len(kept))


def _sessions(conversation: Mapping[str, Any]) -> Iterator[Turn]:
    """LoCoMo: `session_1`, `session_2`, … with turns that have `speaker`, `dia_id`, `text`."""
    number = 1
    while f"session_{number}" in conversation:
        for turn in conversation[f"session_{number}"]:
            yield Turn(id=turn["dia_id"], speaker=turn["speaker"], text=turn["text"])
        number += 1


def _locomo(given: Mapping[str, Any]) -> Asked:
    evidence = [id.strip() for each in given.get("evidence", ()) for id in str(each).replace(";", ",").split(",")]
    category = given.get("category", 4)
    return Asked(
        question=given["question"],
        category=_LOCOMO_CATEGORIES.get(category, str(category)),
        evidence=frozenset(evidence),
    )


def _messages(chat: Sequence[Any]) -> Iterator[Turn]:
    """BEAM: messages with `id`, `role`, `content`, in lists of lists or of batches with `turns`."""
    for each in chat:
        match each:
            case {"id": id, "role": role, "content": content}:
                yield Turn(id=str(id), speaker=str(role), text=str(content))
            case {"turns": list() as inner}:
                yield from _messages(inner)
            case list():
                yield from _messages(each)
            case _:
                raise ValueError(f"a chat has messages with id, role and content, and this is {str(each)[:80]!r}")


def _beam(category: str, given: Mapping[str, Any]) -> Asked:
    sources = given.get("source_chat_ids", ())
    ids = [id for many in sources.values() for id in many] if isinstance(sources, Mapping) else list(sources)
    return Asked(
        question=given["question"], category=category.replace("_", "-"), evidence=frozenset(str(id) for id in ids)
    )


def _timeqa(category: str, given: Any) -> Asked:
    """TimeQA, with the answers that people marked: [question, [{"para": number, …}, …]]."""
    question, answers = given
    evidence = frozenset(str(answer["para"]) for answer in answers if "para" in answer)
    return Asked(question=question, category=category, evidence=evidence)
