"""The named queries of the stores: one name for one thing, in one order."""

import re
from importlib import resources
from itertools import zip_longest
from typing import Final

import pytest

KEYS: Final = (
    "its tables are joined by integer keys, which have to be looked up; in the graph a key is a hash of the scope"
)
APPLY: Final = "in the graph all of a commit is one query, `apply`: each round trip costs"
STEPS: Final = (
    "read in steps, each along one index; in the graph a round trip costs, so another query answers it as well"
)
MANY: Final = "lists are read row by row, a walk reads many rows at once; in the graph many are always asked at once"
SNAPSHOT: Final = "the graph has no snapshots and no lock but its data"
MIGRATIONS: Final = "SQLite reads its migrations before it knows whether the file is its own, so not by name"
FILE: Final = "a file can be written anew; what a server leaves in its own is not for its clients to touch"
SERVER: Final = "a server has to be asked about itself; a file has pragmas"

ONLY_SQLITE: Final = {
    "tenant": KEYS, "scope": KEYS, "name": KEYS, "episode_pk": KEYS, "last_slot": KEYS,
    "put_scope": KEYS, "put_name": KEYS,
    "version_by_id": STEPS, "payloads_of_event": STEPS, "is_value": STEPS, "is_held": STEPS,
    "window_span": STEPS, "window_span_of_value": STEPS, "extents_of_version": STEPS, "extents_of_slot": STEPS,
    "edges_from": STEPS, "edges_to": STEPS,
    "put_entity": APPLY, "put_episode": APPLY, "put_slot": APPLY, "move_slot": APPLY, "put_claim": APPLY,
    "put_transition": APPLY, "change_claim": APPLY,
    "close_version": APPLY, "put_version": APPLY, "hide_extent": APPLY, "show_extent": APPLY,
    "erase_quotes": "in the graph the words that a claim quotes are properties of its node",
    "leased_operation": STEPS, "edges_of_facts": MANY, "expiry_of_facts": MANY, "states_now": MANY, "slot_heads": MANY,
    "restate_nobody": "a table finds by NULL otherwise; in the graph `restate_payload` does both",
    "sweep_names": KEYS,
    "put_scrub": FILE, "scrubs": FILE, "end_scrubs": FILE,
    "put_support": APPLY, "put_event": APPLY, "put_payload": APPLY, "advance_tenant": APPLY,
}  # fmt: skip
ONLY_NEO4J: Final = {
    "open_lanes": "which operations wait is decided before the rows are made; in a table the insert looks for itself",
    "apply": APPLY,
    "old_receipts": "whose operations they are is asked first, since those of each tenant change under its own lock",
    "lock": SNAPSHOT, "slot_as_of": SNAPSHOT, "committed": SNAPSHOT,
    "erase_values": "what a fact says is a node of its own",
    "remove_values": "what a fact says is a node of its own",
    "put_successor": "a correction is a relationship between claims; in a table it is two columns of `end_claim`",
    "around": "what is said of an entity and what points at it; in the graph each round trip costs",
    "slot_with_present": "a writer reads ahead, since in the graph each round trip costs",
    "take_migrations": MIGRATIONS, "migration": MIGRATIONS,
    "constraint_names": MIGRATIONS, "index_names": MIGRATIONS, "vector_indexes": MIGRATIONS, "drop_index": MIGRATIONS,
    "server": SERVER, "indexes": SERVER, "await_indexes": SERVER, "settings": SERVER, "server_clock": SERVER,
    "current_user": SERVER,
}  # fmt: skip


def names(package: str, file: str, comment: str) -> list[str]:
    text = (resources.files(package) / file).read_text(encoding="utf-8")
    return re.findall(rf"^{comment} name: (\w+)$", text, re.MULTILINE)


FILES: Final = ("queries", "episodes", "forgetting", "sessions", "handoffs", "walking")
SEARCH_SQLITE: Final = names("graph.sqlite_store", "searching.sql", "--")
SEARCH_NEO4J: Final = names("graph.neo4j_store", "searching.cypher", "//")
"""Words and vectors are kept in each engine's own manner: what is there in one alone needs no reason."""
SQLITE: Final = [name for file in FILES for name in names("graph.sqlite_store", f"{file}.sql", "--")] + SEARCH_SQLITE
NEO4J: Final = [name for file in FILES for name in names("graph.neo4j_store", f"{file}.cypher", "//")] + SEARCH_NEO4J


@pytest.mark.parametrize("found", [SQLITE, NEO4J], ids=["sqlite", "neo4j"])
def test_a_store_gives_each_name_once(found: list[str]) -> None:
    assert len(found) > 60
    assert sorted(found) == sorted(set(found))


def test_what_both_stores_ask_has_the_same_name_in_the_same_order() -> None:
    shared = set(SQLITE) & set(NEO4J)
    pairs = zip_longest([name for name in SQLITE if name in shared], [name for name in NEO4J if name in shared])
    apart = next((pair for pair in pairs if pair[0] != pair[1]), None)
    assert apart is None, f"here the order parts: queries.sql has {apart[0]!r}, queries.cypher {apart[1]!r}"


def test_a_query_of_one_store_alone_has_a_reason() -> None:
    only_sqlite = set(SQLITE) - set(NEO4J) - set(SEARCH_SQLITE)
    assert only_sqlite == set(ONLY_SQLITE), "name it as the other store does, or say why here"
    only_neo4j = set(NEO4J) - set(SQLITE) - set(SEARCH_NEO4J)
    assert only_neo4j == set(ONLY_NEO4J), "name it as the other store does, or say why here"


def test_every_query_of_the_graph_that_tells_a_claim_gives_the_same_columns() -> None:
    files = ("queries", "forgetting")
    texts = [(resources.files("graph.neo4j_store") / f"{file}.cypher").read_text(encoding="utf-8") for file in files]
    told = [re.findall(r"RETURN (c\.position, [^/]*?)\[\(t:Transition\)", text) for text in texts]

    assert [len(found) > 2 for found in told] == [True, True]
    assert len({" ".join(columns.split()) for found in told for columns in found}) == 1
