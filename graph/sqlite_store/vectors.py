"""Vectors in memory: those of one kind of passages of one scope, made by one model, as one block to multiply with.

A block is kept beside the number of the change up to which it was read, and is brought up to date by what changed
since, in the snapshot of whoever asks. It says what is near, never what may be seen: each of its rows is looked up in
the snapshot before it is a hit, and one whose text has changed since is none.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from graph.searching import Vector
from graph.sqlite_store.summing import NEVER, best
from ontology.instants import Instant
from ontology.scope import Tenant

BYTES_MAX: Final = 512 * 2**20
"""Of all the vectors that a store keeps in memory; those that were not asked for longest go first."""
_PARTS_MAX: Final = 8


Key = tuple[Tenant, int, int, int]
"""(tenant, key of the scope, kind of passages, key of the model)."""


class Queries(Protocol):
    """A snapshot that is asked by names of queries."""

    def all(self, query: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]: ...

    def one(self, query: str, parameters: Sequence[object]) -> tuple[Any, ...] | None: ...


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that were read together; arrays of one length."""

    passages: NDArray[np.int64]
    predicates: NDArray[np.int32]
    since: NDArray[np.int64]
    """When something was first known of each."""
    texts: list[bytes]
    matrix: NDArray[np.float32]
    stale: NDArray[np.bool_]
    """Of which a later part has a newer row."""


@dataclass(frozen=True, slots=True)
class Block:
    """All of a scope as of one change; never altered."""

    drops: int
    changes: int
    codes: dict[str, int]
    """The number of each predicate; only added to."""
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        return sum(part.matrix.nbytes for part in self.parts)

    def scored(self, vector: Vector, predicates: Collection[str] | None, known_at: Instant) -> "Scored":
        """How near each row is, of one that cannot be visible -2."""
        found = [np.empty(0, dtype=np.float32)]
        wanted = None if predicates is None else [self.codes[name] for name in predicates if name in self.codes]
        for part in self.parts:
            scores = part.matrix @ vector
            scores[part.stale | (part.since > known_at)] = NEVER
            if wanted is not None:
                scores[~np.isin(part.predicates, wanted)] = NEVER
            found.append(scores)
        passages = [np.empty(0, dtype=np.int64), *(part.passages for part in self.parts)]
        return Scored(self, np.concatenate(found), np.concatenate(passages))

    def texts(self, rows: NDArray[np.intp]) -> list[bytes]:
        """The keys of the texts of these rows."""
        if len(self.parts) == 1:
            return [self.parts[0].texts[row] for row in rows.tolist()]
        starts = np.cumsum([0, *(len(part.texts) for part in self.parts)])
        parts = np.searchsorted(starts, rows, side="right") - 1
        within = (rows - starts[parts]).tolist()
        return [self.parts[part].texts[row] for part, row in zip(parts.tolist(), within, strict=True)]


@dataclass(frozen=True, slots=True)
class Scored:
    """The rows of a block by how near they are to a vector."""

    block: Block
    scores: NDArray[np.float32]
    passages: NDArray[np.int64]

    def nearest(self, count: int) -> list[tuple[int, float, bytes]]:
        """(passage, cosine, text key), nearest first."""
        rows = best(self.scores, self.passages, count)
        return list(zip(self.passages[rows].tolist(), self.scores[rows].tolist(), self.block.texts(rows), strict=True))


class Vectors:
    """The blocks of a store; safe to use from many threads."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._blocks: OrderedDict[Key, Block] = OrderedDict()

    def of(self, connection: Queries, tenant: Tenant, scope_pk: int, kind: int, model: tuple[int, int]) -> Block:
        """The block of a scope, as the snapshot of `connection` has it or newer; `model` is (key, dimensions)."""
        key = (tenant, scope_pk, kind, model[0])
        row = connection.one("indexed", (scope_pk, kind))
        _, _, changes, drops = row or (0, 0, 0, 0)
        with self._lock:
            known = self._blocks.get(key)
            if known is not None:
                self._blocks.move_to_end(key)
        if known is None or known.drops != drops:
            block = _read(connection, key, model[1], Block(drops, 0, {}, ()), changes)
        elif known.changes < changes:
            block = _read(connection, key, model[1], known, changes)
        else:
            return known
        self._keep(key, block)
        return block

    def forget(self, tenant: Tenant) -> None:
        """Something of a tenant was erased."""
        with self._lock:
            for key in [key for key in self._blocks if key[0] == tenant]:
                del self._blocks[key]

    def let_go(self, connection: Queries) -> None:
        """Something may have been erased, by any process: keep no block out of which something went since."""
        with self._lock:
            held = [(key, block.drops) for key, block in self._blocks.items()]
        for key, drops in held:
            row = connection.one("indexed", key[1:3])
            if row is not None and drops < row[3]:
                with self._lock:
                    if (known := self._blocks.get(key)) is not None and known.drops < row[3]:
                        del self._blocks[key]

    def _keep(self, key: Key, block: Block) -> None:
        with self._lock:
            newer = self._blocks.get(key)
            if newer is not None and (newer.drops, newer.changes) > (block.drops, block.changes):
                return
            self._blocks[key] = block
            self._blocks.move_to_end(key)
            while self._blocks and sum(each.size for each in self._blocks.values()) > self._bytes_max:
                self._blocks.popitem(last=False)


def _read(connection: Queries, key: Key, dimensions: int, known: Block, changes: int) -> Block:
    """`known` with what changed after it."""
    rows = connection.all("vectors_after", (*key[1:3], known.changes, key[3]))
    if not rows:
        return Block(known.drops, changes, known.codes, known.parts)
    codes = dict(known.codes)
    part = Part(
        passages=np.array([row[0] for row in rows], dtype=np.int64),
        predicates=np.array([codes.setdefault(row[2], len(codes)) for row in rows], dtype=np.int32),
        since=np.array([row[3] for row in rows], dtype=np.int64),
        texts=[row[1] for row in rows],
        matrix=np.frombuffer(b"".join(row[4] for row in rows), dtype="<f4").reshape(len(rows), dimensions),
        stale=np.zeros(len(rows), dtype=np.bool_),
    )
    older = [replace(each, stale=each.stale | np.isin(each.passages, part.passages)) for each in known.parts]
    return Block(known.drops, changes, codes, _joined([*older, part]))


def _joined(parts: list[Part]) -> tuple[Part, ...]:
    """The same rows in few parts: small ones are joined first, so that the large ones are copied seldom."""
    while len(parts) > _PARTS_MAX or (len(parts) > 1 and len(parts[-1].texts) * 2 > len(parts[-2].texts)):
        one, other = parts[-2:]
        parts[-2:] = [_merged(one, other)]
    return tuple(parts)


def _merged(one: Part, other: Part) -> Part:
    kept = [(part, np.flatnonzero(~part.stale)) for part in (one, other)]
    return Part(
        passages=np.concatenate([part.passages[rows] for part, rows in kept]),
        predicates=np.concatenate([part.predicates[rows] for part, rows in kept]),
        since=np.concatenate([part.since[rows] for part, rows in kept]),
        texts=[part.texts[row] for part, rows in kept for row in rows],
        matrix=np.concatenate([part.matrix[rows] for part, rows in kept]),
        stale=np.zeros(sum(len(rows) for _, rows in kept), dtype=np.bool_),
    )
