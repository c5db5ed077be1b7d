"""Who held the highest offices, as lines for `vigencia load --as-recorded`:

    python -m benchmarks.convert_congress ../shared/data/congress

The history of edits of the file `executive.yaml`; one commit is one transaction, recorded when it was made. A term
becomes two claims, each over the term: the office (`president`, `vice-president`) is `held_by` a person, and the
person is of a `party`. A line that retracts says that the file no longer states a fact, hence that it never counted:
the claims of a fact cite the fact itself as their episode, and the retraction withdraws that episode, which leaves
every other fact alone, however it overlaps.

`present_lines` makes the same claims from the file as it is now.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks.conversion import Line, assertion, entity, print_lines

OFFICES: Final = {"prez": "president", "viceprez": "vice-president"}

_SINCE_ALWAYS: Final = "-infinity"

Fact = Mapping[str, str]


def history_lines(folder: Path) -> Iterator[Line]:
    """The items of each commit, in the order of the history."""
    with gzip.open(folder / "executive-history.jsonl.gz", "rt", encoding="utf-8") as stream:
        for line in stream:
            edit = json.loads(line)
            stamp = {"recorded_at": edit["time"], "tx": edit["commit"]}
            if edit["op"] == "retract":
                yield {"op": "withdraw", "episode": _episode(edit["fact"]), "reason": "no longer stated", **stamp}
            else:
                yield from (claim | stamp for claim in _claims(edit["fact"]))


def present_lines(folder: Path) -> Iterator[Line]:
    """What the file states now."""
    text = (folder / "executive.yaml").read_text(encoding="utf-8")
    for person in yaml.load(text, Loader=yaml.CSafeLoader):
        id, name = _person(person["id"]), person["name"]
        full = name.get("official_full") or f"{name['first']} {name['last']}"
        yield from _claims({"kind": "name", "id": id, "name": full})
        for term in person["terms"]:
            yield from _claims({"kind": "term", "id": id, **term})


def _claims(fact: Fact) -> Iterator[Line]:
    episode, person = _episode(fact), fact["id"]
    if fact["kind"] == "name":
        yield assertion(person, "name", fact["name"], _SINCE_ALWAYS, None, episode=episode)
        return
    term = (fact["start"], fact["end"])
    yield assertion(OFFICES[fact["type"]], "held_by", entity(person), *term, episode=episode)
    yield assertion(person, "party", fact["party"], *term, episode=episode)


def _episode(fact: Fact) -> str:
    return "executive.yaml " + " ".join(f"{name}={fact[name]}" for name in sorted(fact))


def _person(ids: Mapping[str, Any]) -> str:
    """The id by which the history names a person: the first there is of three."""
    return str(ids.get("bioguide") or ids.get("icpsr_prez") or ids["govtrack"])


if __name__ == "__main__":
    print_lines(history_lines, "convert_congress", __doc__)
