"""What a retry gets: the answer of the first attempt, kept under its key in the transaction that made it."""

import zlib
from dataclasses import dataclass
from typing import Final

import orjson

from graph.ports import Answered, Transaction
from ontology.canonical import incorrect
from ontology.errors import JSON, Gone, KeyReused, shown
from ontology.instants import Instant

KEY_CHARS_MAX: Final = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The answer to a write: its receipt in wire form, and whether it is that of an earlier, equal request."""

    receipt: dict[str, JSON]
    replayed: bool


def check_key(key: str) -> None:
    """Raise `Incorrect` for what cannot be an idempotency key."""
    if not 1 <= len(key) <= KEY_CHARS_MAX or not key.isprintable():
        detail = f"the idempotency key {shown(key)} is not 1 to {KEY_CHARS_MAX} printable characters"
        raise incorrect("", "bad_name", detail)


def replayed(tx: Transaction, principal: str, key: str, request: bytes, now: Instant) -> Written | None:
    """The answer to the first attempt, `None` where this is it. Raises `KeyReused` for another request, `Gone`
    where what it did was forgotten."""
    tx.forget_keys(now)
    answered = tx.answered(principal, key)
    if answered is None:
        return None
    if not answered.receipt:
        raise Gone(f"what the idempotency key {shown(key)} stands for was forgotten since")
    if answered.request != request:
        raise KeyReused(
            f"the idempotency key {shown(key)} stands for another request; make a new key for each operation"
        )
    return Written(receipt=restored(answered.receipt), replayed=True)


def kept(request: bytes, receipt: dict[str, JSON]) -> Answered:
    """What a key keeps of a receipt: for a large batch a tenth of its wire form."""
    return Answered(request=request, receipt=zlib.compress(orjson.dumps(receipt), 1))


def restored(receipt: bytes) -> dict[str, JSON]:
    """The wire form of a kept receipt."""
    document: dict[str, JSON] = orjson.loads(zlib.decompress(receipt))
    return document
