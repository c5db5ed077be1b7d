"""Whether the index in a SQLite file is what it should be: every text once, and nothing of what is not there."""

import sqlite3
from collections import Counter
from contextlib import closing

from graph.terms import trigrams, words

_NONE_OF: dict[str, str] = {
    "a statement without a sentence": "SELECT 1 FROM passages WHERE kind = 0 AND (text IS NULL OR wants = 1)",
    "an episode that is not cut": "SELECT 1 FROM kept WHERE cut = 0 AND destroyed = 0",
    "a statement that stands for nothing": """SELECT 1 FROM passages p WHERE kind = 0 AND NOT EXISTS (
        SELECT 1 FROM versions v WHERE v.slot_pk = p.slot_pk AND v.value_key = p.value_key)""",
    "a value that has no statement": """SELECT 1 FROM versions v WHERE NOT EXISTS (
        SELECT 1 FROM passages p WHERE p.slot_pk = v.slot_pk AND p.value_key = v.value_key)""",
    "a chunk of no episode": """SELECT 1 FROM passages p WHERE kind = 1 AND NOT EXISTS (
        SELECT 1 FROM kept k WHERE k.tenant_pk = p.tenant_pk AND k.position = p.position AND k.ordinal = p.ordinal
          AND k.destroyed = 0)""",
    "a chunk that is there twice": """SELECT 1 FROM passages WHERE kind = 1
        GROUP BY tenant_pk, position, ordinal, number HAVING count(*) > 1""",
    "a vector of no text": """SELECT 1 FROM vectors x WHERE NOT EXISTS (
        SELECT 1 FROM models m JOIN tenants t ON t.tenant = m.tenant
        JOIN passages p ON p.tenant_pk = t.pk AND p.text_key = x.text_key WHERE m.pk = x.model_pk)""",
    "a text without a vector": "SELECT 1 FROM passages WHERE serving = 0",
    "a text that says it has a vector": """SELECT 1 FROM passages p JOIN tenants t ON t.pk = p.tenant_pk
        JOIN models m ON m.tenant = t.tenant AND m.stage = 'serving' WHERE NOT EXISTS (
        SELECT 1 FROM vectors x WHERE x.model_pk = m.pk AND x.text_key = p.text_key)""",
    "a model that is still being made": "SELECT 1 FROM models WHERE stage = 'target'",
}


def faults(path: str) -> list[str]:
    """What is wrong with the index of a file, all of which is indexed and has vectors of one model."""
    with closing(sqlite3.connect(path)) as connection:
        found = [name for name, query in _NONE_OF.items() if connection.execute(f"{query} LIMIT 1").fetchone()]
        expected = Counter[tuple[object, ...]]()
        sizes = Counter[tuple[int, int, str]]()
        texts = connection.execute(
            """SELECT p.pk, p.scope_pk, p.kind, p.text, v.value_text FROM passages p
            LEFT JOIN slots s ON s.pk = p.slot_pk AND s.predicate IN ('name', 'alias')
            LEFT JOIN versions v ON v.slot_pk = s.pk AND v.value_key = p.value_key GROUP BY p.pk"""
        )
        for pk, scope, kind, text, name in texts:
            expected.update((scope, kind, word, pk) for word in words(text or ""))
            expected.update((scope, 2, gram, pk) for gram in ([] if name is None else trigrams(name)))
            sizes[scope, kind, "passages"] += 1
            sizes[scope, kind, "words"] += len(words(text or ""))
        rows = connection.execute("SELECT scope_pk, kind, term, passage_pk, occurrences FROM postings")
        if expected != Counter({tuple(row[:4]): row[4] for row in rows}):
            found.append("postings that are not those of the texts")
        counted = connection.execute("SELECT scope_pk, kind, passages, words FROM indexed WHERE kind < 2").fetchall()
        if any((sizes[s, k, "passages"], sizes[s, k, "words"]) != (count, length) for s, k, count, length in counted):
            found.append("counts that are not those of the texts")
        return found
