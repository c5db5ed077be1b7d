"""How passages come and go with what they stand for: beside each commit, and when their text is written.

A passage is found by its text and by nothing else, so that one which has none is in no list but that of what is to be
written. Whatever takes a text away takes its postings and, where no other passage has it, its vectors.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from graph.naming import NAMING
from graph.searching import text_key
from graph.sqlite_store.connection import Connection, Row
from graph.sqlite_store.keys import Keys
from graph.terms import trigrams, words
from ontology.facts import FactVersion
from ontology.ids import ENTITY, EPISODE, EntityId
from ontology.scope import Tenant
from ontology.values import ValueKey, entity_value, value_key

SENTENCE: Final = 0
CHUNK: Final = 1
NAMES: Final = 2
"""The kinds of postings; passages are of the first two."""

SERVING: Final = "serving"
TARGET: Final = "target"
"""The stages of models."""


class Passages:
    """The passages of a tenant, under its write lock."""

    __slots__ = ("_connection", "_tenant")

    def __init__(self, connection: Connection, tenant: Tenant) -> None:
        self._connection = connection
        self._tenant = tenant

    def write(self, passage: Row, text: str, name: str | None) -> None:
        """Give a passage its text, instead of the one before; `name` is what it may be found by as a name."""
        pk, _, scope_pk, kind, before = passage[:5]
        key = text_key(text)
        if key == before:
            self._connection.many("keep_passage", [(pk,)])
            return
        self._take_out([passage], drops=0)  # a vector in memory is of the text that it was made of
        counts = Counter(words(text))
        length = sum(counts.values())
        grams = [] if name is None else trigrams(name)
        self._connection.many(
            "put_posting",
            [(scope_pk, kind, term, pk, times, length) for term, times in counts.items()]
            + [(scope_pk, NAMES, gram, pk, 1, len(grams)) for gram in grams],
        )
        change = self.change(scope_pk, kind, passages=1, words=length)
        stages = {stage: model for model, stage, *_ in self._connection.all("models", (self._tenant,))}
        vectors = (stages.get(SERVING), stages.get(TARGET), change)
        self._connection.many("write_passage", [(pk, text, key, length, " ".join(counts), " ".join(grams), *vectors)])
        self._sweep_vectors([passage])

    def empty(self, passages: Sequence[Row]) -> None:
        """Take the texts away; they are to be written anew."""
        self._take_out(passages, drops=1)
        self._connection.many("empty_passage", [row[:1] for row in passages])
        self._sweep_vectors(passages)

    def remove(self, passages: Sequence[Row]) -> None:
        """Take the passages away, with their texts."""
        self._take_out(passages, drops=1)
        self._connection.many("remove_passage", [row[:1] for row in passages])
        self._sweep_vectors(passages)

    def change(self, scope_pk: int, kind: int, *, passages: int = 0, words: int = 0) -> int:
        """Count a change of what a scope has; gives its number."""
        self._connection.many("count_indexed", [(scope_pk, kind, passages, words, 1, 0)])
        row = self._connection.one("indexed", (scope_pk, kind))
        return 0 if row is None else int(row[2])

    def _take_out(self, passages: Iterable[Row], *, drops: int) -> None:
        for pk, _, scope_pk, kind, key, length, terms, grams in passages:
            if key is not None:
                gone = [(scope_pk, kind, term, pk) for term in terms.split()]
                gone += [(scope_pk, NAMES, gram, pk) for gram in grams.split()]
                self._connection.many("remove_posting", gone)
                self._connection.many("count_indexed", [(scope_pk, kind, -1, -length, 0, drops)])

    def _sweep_vectors(self, passages: Iterable[Row]) -> None:
        keys = {(row[1], row[4]) for row in passages if row[4] is not None}
        self._connection.many("remove_vectors", keys)


class PassagesOfCommits:
    """What the commits of one transaction do to the index: they write no text, and leave none that is gone."""

    def __init__(self, connection: Connection, keys: Keys, tenant: Tenant) -> None:
        self._connection = connection
        self._keys = keys
        self._passages = Passages(connection, tenant)

    def opened(self, versions: Iterable[FactVersion]) -> None:
        tenant = self._keys.tenant
        rows = [
            (tenant, self._keys.scope(v.slot.scope), self._keys.slot(v.slot), v.value_key, v.recorded_from)
            for v in versions
        ]
        self._connection.many("put_statement", rows)

    def renamed(self, versions: Iterable[FactVersion]) -> None:
        """Versions were opened or closed: where they name an entity, all that names it is to be written anew."""
        named = {(v.slot.scope, v.slot.subject) for v in versions if v.slot.predicate in NAMING}
        for scope, subject in named:
            scope_pk = self._keys.scope(scope)
            self._connection.many("rewrite_about", [(scope_pk, *self._keys.place(subject))])
            self._connection.many("rewrite_pointing", [(scope_pk, _pointing_at(subject))])

    def relabelled(self, predicates: Iterable[str]) -> None:
        """Predicates are called otherwise: what is said under them is to be written anew, in all scopes."""
        tenant = self._keys.tenant
        self._connection.many("rewrite_under", [(tenant, predicate) for predicate in predicates])

    def gone_from(self, slot_pk: int) -> None:
        """Versions of a slot were erased."""
        self._passages.remove(self._connection.all("passages_gone", (slot_pk,)))

    def unnamed(self, subject: EntityId) -> None:
        """A name of an entity was erased: no text in which it may stand stays."""
        about = (self._keys.tenant, *self._keys.located(subject, ENTITY), _pointing_at(subject))
        self._passages.empty(self._connection.all("passages_naming", about))

    def words_gone(self, episode: str) -> None:
        """The words of a recorded episode were destroyed."""
        place = (self._keys.tenant, *self._keys.located(episode, EPISODE))
        self._passages.remove(self._connection.all("passages_of_words", place))


def _pointing_at(subject: EntityId) -> ValueKey:
    return value_key(entity_value(subject))
