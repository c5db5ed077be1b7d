"""A server's process as far as the store is concerned: it writes and reads what it is asked to, by lines of JSON.

    python -m tests.neo4j.process URI [--skew MICROSECONDS]

`{"tell": ["v1", "v2"]}` writes these, one after the other, and answers with the receipt of each;
`{"read": 7}` waits as long as `min_position` does for position 7, and answers with what is there then.
"""

import argparse
import json
import sys
import time
from contextlib import closing
from typing import Any, Final

from graph.neo4j_store.store import Neo4jStore
from tests.neo4j.callers import LIMITS, SCOPE, Caller, SkewedClock, values

POSITION_SECONDS: Final = 2.0
"""The default of the setting."""


def read_at_least(store: Neo4jStore, position: int) -> dict[str, Any]:
    """What is there at the first head that is at least `position`, or where it ended when that did not come in time."""
    deadline = time.monotonic() + POSITION_SECONDS
    while True:
        with store.read(SCOPE) as reader:
            head = reader.head.position
        if head >= position or time.monotonic() >= deadline:
            return {"position": head, "values": values(store) if head else []}
        time.sleep(0.02)


def answer(asked: dict[str, Any], store: Neo4jStore, caller: Caller) -> object:
    if "read" in asked:
        return read_at_least(store, asked["read"])
    told = [caller.tell(value) for value in asked["tell"]]
    return [{"value": each.value, "position": each.position, "recorded_at": each.recorded_at} for each in told]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("uri")
    parser.add_argument("--skew", type=int, default=0)
    given = parser.parse_args(arguments)
    with closing(Neo4jStore(given.uri, limits=LIMITS)) as store:
        caller = Caller(store, SkewedClock(given.skew))
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line), store, caller)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
