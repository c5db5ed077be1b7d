"""How the index of a scope is written in SQLite: the store's `SearchTransaction`."""

from collections.abc import Sequence

import numpy as np

from graph import decoding
from graph.naming import NAMING
from graph.searching import Chunk, Model, Statement, TextKey, Vector
from graph.sqlite_store.connection import Connection, Row
from graph.sqlite_store.passages import CHUNK, SERVING, TARGET, Passages
from ontology.errors import Incorrect, shown
from ontology.ids import ENTITY, EPISODE, EpisodeId, Ledger
from ontology.scope import Scope


class SqliteSearchTransaction:
    """The part of a transaction that indexes; its scope is looked up each time, since a commit may have made it."""

    __slots__ = ()

    _connection: Connection
    _scope: Scope

    def write_sentences(self, sentences: Sequence[tuple[Statement, str]]) -> None:
        passages = self._passages
        where = self._where()
        for statement, text in sentences:
            row = self._passage(where, statement)
            if row is not None:
                named = statement.slot.predicate in NAMING
                passages.write(row, text, statement.value.text if named else None)

    def write_chunks(self, episode: EpisodeId, chunks: Sequence[tuple[Chunk, str]]) -> None:
        tenant_pk, scope_pk, ledger = self._where()
        place = decoding.place(episode, EPISODE, ledger)
        if place is None or not self._connection.all("words_to_cut", (tenant_pk, *place, scope_pk)):
            return
        passages = self._passages
        passages.remove(self._connection.all("passages_of_words", (tenant_pk, *place)))
        for chunk, text in chunks:
            row = (tenant_pk, scope_pk, *place, chunk.number, chunk.turn, chunk.start, chunk.end)
            for (pk,) in self._connection.all("put_chunk", row):
                passages.write((pk, tenant_pk, scope_pk, CHUNK, None, 0, None, None), text, None)
        self._connection.many("cut_words", [(tenant_pk, *place)])

    def write_vectors(self, model: str, vectors: Sequence[tuple[TextKey, Vector]]) -> None:
        pk, stage, _, dimensions = self._model(model)
        tenant_pk = self._where()[0]
        changes: dict[tuple[int, int], int] = {}
        for key, vector in vectors:
            if vector.shape != (dimensions,):
                detail = f"model {shown(model)} has {dimensions} dimensions, got a vector of shape {vector.shape}"
                raise Incorrect(detail, remedy="embed the text anew with this model")
            rows = self._connection.all("passages_of_text", (tenant_pk, key))
            if rows:
                stored = np.ascontiguousarray(vector, dtype="<f4").tobytes()
                self._connection.many("put_vector", [(pk, key, stored)])
            for passage, scope_pk, kind in rows:
                if (scope_pk, kind) not in changes:
                    changes[scope_pk, kind] = self._passages.change(scope_pk, kind)
                query = "serve_vector" if stage == SERVING else "target_vector"
                self._connection.many(query, [(passage, changes[scope_pk, kind])])

    def begin_model(self, model: Model) -> None:
        stages = {row[1]: row for row in self._models()}
        for row in stages.values():
            if row[2] == model.name and row[3] != model.dimensions:
                detail = f"model {shown(model.name)} has {row[3]} dimensions here, not {model.dimensions}"
                raise Incorrect(detail, remedy="give a model of other dimensions another name")
        serving, target = stages.get(SERVING), stages.get(TARGET)
        if target is not None and target[2] == model.name:
            return
        if target is not None:
            self._connection.many("remove_vectors_of_model", [target[:1]])
            self._connection.many("remove_model", [target[:1]])
            self._connection.many("no_target", [(self._where()[0],)])
        if serving is None or serving[2] != model.name:
            stage = SERVING if serving is None else TARGET
            self._connection.many("put_model", [(self._scope.tenant, stage, model.name, model.dimensions)])

    def serve_model(self, name: str) -> None:
        pk, stage, *_ = self._model(name)
        if stage == SERVING:
            return
        old = next(row for row in self._models() if row[1] == SERVING)
        tenant = (self._where()[0],)
        self._connection.many("remove_vectors_of_model", [old[:1]])
        self._connection.many("remove_model", [old[:1]])
        self._connection.many("promote_model", [(pk,)])
        self._connection.many("serve_target", [tenant])
        self._connection.many("drop_of_tenant", [tenant])

    def unindex(self) -> None:
        tenant_pk, scope_pk, _ = self._where()
        self._connection.many("empty_postings", [(scope_pk,)])
        self._connection.many("empty_statements", [(scope_pk,)])
        self._connection.many("empty_chunks", [(tenant_pk, scope_pk)])
        self._connection.many("empty_counts", [(scope_pk,)])
        self._connection.many("empty_vectors", [(self._scope.tenant, tenant_pk)])
        self._connection.many("uncut_all", [(tenant_pk, scope_pk)])

    # ---- what these are made of

    @property
    def _passages(self) -> Passages:
        return Passages(self._connection, self._scope.tenant)

    def _where(self) -> tuple[int, int, Ledger]:
        """The keys of the tenant and of the scope, and the tag; keys that meet nothing where there is none yet."""
        scope = self._scope
        row = self._connection.one("head", (scope.tenant, scope.namespace, scope.purpose))
        if row is None or row[1] is None:
            return -1 if row is None else row[0], -1, Ledger("")
        return row[0], row[1], Ledger(row[2])

    def _passage(self, where: tuple[int, int, Ledger], statement: Statement) -> Row | None:
        _, scope_pk, ledger = where
        slot = statement.slot
        place = decoding.place(slot.subject, ENTITY, ledger)
        if place is None or slot.scope != self._scope:
            return None
        row = self._connection.one("slot", (scope_pk, *place, slot.predicate, slot.language))
        return row and self._connection.one("passage_of_statement", (row[0], statement.value_key))

    def _models(self) -> list[Row]:
        return self._connection.all("models", (self._scope.tenant,))

    def _model(self, name: str) -> Row:
        """Its row. Raises `Incorrect` for one that was not begun."""
        for row in self._models():
            if row[2] == name:
                return row
        raise Incorrect(f"no model {shown(name)} was begun", remedy="begin it first")
