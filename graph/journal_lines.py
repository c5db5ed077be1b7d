"""How a journal is written as lines of JSON: a header, one line per event, a trailer that tells a cut file."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from graph.journal_rows import seal
from ontology.errors import Incorrect, Unsupported, shown
from ontology.events import Event, Kind, Payload
from ontology.ids import Ledger
from ontology.instants import Instant

FORMAT: Final = "vigencia-journal"
FORMAT_VERSION: Final = 1

Chained = tuple[Event, tuple[Payload, ...]]
"""An event with the payloads that still exist, a restated one in its newest form."""


def header_line(ledger: Ledger | None, after: int, previous: bytes) -> bytes:
    """The first line of a journal that goes on from a position and the digest there."""
    header = {"format": FORMAT, "version": FORMAT_VERSION, "ledger": ledger, "after": after}
    return _line({**header, "previous": previous.hex()})


def event_line(event: Event, payloads: Iterable[Payload]) -> bytes:
    listed = [(payload.subject, payload.salt.hex(), payload.body.decode()) for payload in payloads]
    return _line({**event_document(event), "payloads": listed})


def event_document(event: Event) -> dict[str, object]:
    """The skeleton of an event."""
    return {
        "position": event.position,
        "recorded_at": event.recorded_at,
        "kind": event.kind,
        "principal": event.principal,
        "digests": [(subject, digest.hex()) for subject, digest in event.digests],
        "restated": [(position, subject, digest.hex()) for position, subject, digest in event.restated],
        "previous": event.previous.hex(),
        "digest": event.digest.hex(),
    }


def trailer_line(events: int, position: int, digest: bytes) -> bytes:
    """The last line: how many events there are, and the position and the digest of the last."""
    return _line(_trailer(events, position, digest))


class JournalLines:
    """The lines of a journal, read once and checked for their form; the chain is for the reader of the events."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        """Raises `Unsupported` for what is no journal of this format, `Incorrect` for a header that is damaged."""
        self._number = 0
        self._lines = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
        header = self._next("the header")
        if header.get("format") != FORMAT:
            raise Unsupported(f"line {self._number} is not the header of a journal; give what journal export wrote")
        if header.get("version") != FORMAT_VERSION:
            raise Unsupported(f"a journal of version {shown(header.get('version'))}; this reads {FORMAT_VERSION}")
        try:
            self.ledger = Ledger(header["ledger"] or "")
            self.after: int = int(header["after"])
            self.previous = bytes.fromhex(header["previous"])
        except (KeyError, TypeError, ValueError) as exc:
            raise Incorrect(f"line {self._number} is no complete header of a journal") from exc

    def events(self) -> Iterator[Chained]:
        """Each event. Raises `Incorrect` for a line that is none, and where the trailer is missing or disagrees."""
        count, position, digest = 0, self.after, self.previous
        while "events" not in (document := self._next("the trailer")):
            try:
                chained = _read_chained(document)
            except (KeyError, TypeError, ValueError) as exc:
                raise Incorrect(f"line {self._number} is no event of a journal") from exc
            count, position, digest = count + 1, chained[0].position, chained[0].digest
            yield chained
        if document != _trailer(count, position, digest):
            raise Incorrect(
                f"the trailer in line {self._number} disagrees with the events; the journal is cut or altered"
            )
        if next(self._lines, None) is not None:
            raise Incorrect(f"line {self._number} is the trailer, but more follows; give one journal at a time")

    def _next(self, wanted: str) -> dict[str, Any]:
        try:
            self._number, line = next(self._lines)
        except StopIteration:
            raise Incorrect(f"the journal ends before {wanted}; it is cut", remedy="export it again") from None
        try:
            document = orjson.loads(line)
        except ValueError as exc:
            raise Incorrect(f"line {self._number} is not JSON; the journal is damaged or cut") from exc
        if not isinstance(document, dict):
            raise Incorrect(f"line {self._number} is no line of a journal")
        return document


def read_event(document: Mapping[str, Any]) -> Event:
    """The skeleton that a document says. Raises `KeyError`, `TypeError`, `ValueError` for what is none."""
    return Event(
        position=int(document["position"]),
        recorded_at=Instant(int(document["recorded_at"])),
        kind=Kind(document["kind"]),
        principal=str(document["principal"]),
        digests=tuple((subject, bytes.fromhex(digest)) for subject, digest in document["digests"]),
        restated=tuple((at, subject, bytes.fromhex(digest)) for at, subject, digest in document["restated"]),
        previous=bytes.fromhex(document["previous"]),
        digest=bytes.fromhex(document["digest"]),
    )


def _read_chained(document: dict[str, Any]) -> Chained:
    payloads = (seal(subject, bytes.fromhex(salt), body.encode()) for subject, salt, body in document["payloads"])
    return read_event(document), tuple(payloads)


def _trailer(events: int, position: int, digest: bytes) -> dict[str, object]:
    return {"events": events, "position": position, "digest": digest.hex()}


def _line(document: dict[str, object]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
