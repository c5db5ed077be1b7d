"""How a backup is written as lines of JSON, and read again: what a cut, an altered or a reordered file is told by.

A header; for each tenant a line that opens it, what is kept beside its journal, its events and a line that closes it;
last a manifest, which vouches for every line before it. What an event says of itself is in the clear (position, time,
kind, principal, ids of owners, digests); every payload is sealed.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from graph.journal import NO_DIGEST
from graph.journal_lines import Chained, event_document, read_event
from graph.sealing import Entry, Sealing
from ontology.errors import Incorrect, NotFound, Unsupported, shown
from ontology.events import Event, Payload
from ontology.ids import EpisodeId, Ledger, Owner
from ontology.instants import Instant
from ontology.scope import Tenant

FORMAT: Final = "vigencia-backup"
FORMAT_VERSION: Final = 1

_AGAIN: Final = "give a copy of the backup that is whole, or another backup"


Gone = Mapping[tuple[int, Owner | None], bytes]
"""The payloads of which nobody can read all any more, since a key was destroyed, with the digest of what is left: of
those that quoted what was forgotten. Of the others nothing is, and they have 32 zero bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Where the journal of a tenant ends in a backup."""

    events: int
    position: int
    digest: bytes

    def document(self) -> dict[str, object]:
        return {"events": self.events, "position": self.position, "digest": self.digest.hex()}


class BackupWriter:
    """Writes the lines in their order, and keeps what the manifest says of them."""

    def __init__(self, write_line: Callable[[bytes], object], sealing: Sealing, tree: str, made_at: Instant) -> None:
        """`tree` names the keys with which it is sealed."""
        self._write_line = write_line
        self._sealing = sealing
        self._digest = hashlib.sha256()
        self._tenants: dict[Tenant, Ended] = {}
        self._line({"format": FORMAT, "version": FORMAT_VERSION, "keys": tree, "made_at": made_at})

    def open_tenant(self, tenant: Tenant, ledger: Ledger | None, unread_after: int) -> None:
        """`unread_after` is the position after which no recorded episode counts as read."""
        self._line({"tenant": tenant, "ledger": ledger, "unread_after": unread_after})

    def unread(self, ids: Sequence[EpisodeId]) -> None:
        """Episodes of the tenant that are still to be read."""
        self._line({"unread": ids})

    def beside(self, tenant: Tenant, what: str, rows: Sequence[object]) -> None:
        """What is kept of the tenant beside its journal, sealed."""
        self._line({"beside": what, "sealed": self._sealing.seal_beside(tenant, what, orjson.dumps(rows))})

    def event(self, tenant: Tenant, event: Event, payloads: Iterable[Payload]) -> int:
        """Gives how many payloads it leaves out, since the keys of their owners were destroyed."""
        sealed = [self._sealing.seal_payload(tenant, event.position, each) for each in payloads]
        self._line({**event_document(event), "sealed": sealed})
        return sum(text is None for _, text, *_ in sealed)

    def close_tenant(self, tenant: Tenant, ended: Ended) -> None:
        self._tenants[tenant] = ended
        self._line({"end": tenant, **ended.document()})

    def manifest(self) -> None:
        """The last line."""
        tenants: dict[str, object] = {tenant: ended.document() for tenant, ended in self._tenants.items()}
        self._write_line(
            orjson.dumps(
                {"manifest": tenants, "seal": _vouched(self._sealing, self._digest.digest(), tenants)},
                option=orjson.OPT_APPEND_NEWLINE,
            )
        )

    def _line(self, document: Mapping[str, object]) -> None:
        line = orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
        self._digest.update(line)
        self._write_line(line)


class TenantLines:
    """What a backup holds of one tenant. Its events are read once, before the next tenant is asked for."""

    def __init__(self, lines: "BackupLines", document: Mapping[str, Any]) -> None:
        self.tenant = Tenant(str(document["tenant"]))
        self.ledger = Ledger(document["ledger"] or "")
        self.unread_after = int(document["unread_after"])
        self.unread: set[str] = set()
        self.beside: dict[str, list[Any]] = {}
        self.gone: dict[tuple[int, Owner | None], bytes] = {}
        self.ended: Ended | None = None
        self._lines = lines
        self._next = lines.next("the end of a tenant")
        while "unread" in self._next or "beside" in self._next:
            if "unread" in self._next:
                self.unread.update(map(str, self._next["unread"]))
            else:
                what = str(self._next["beside"])
                self.beside.setdefault(what, []).extend(
                    orjson.loads(lines.sealing.open_beside(self.tenant, what, str(self._next["sealed"])))
                )
            self._next = lines.next("the end of a tenant")

    def events(self) -> Iterator[Chained]:
        """Raises `Incorrect` for what is no event, or does not open though its key is there."""
        count, position, digest = 0, 0, NO_DIGEST
        while "end" not in self._next:
            event, payloads = self._event(self._next)
            count, position, digest = count + 1, event.position, event.digest
            yield event, payloads
            self._next = self._lines.next("the end of a tenant")
        ended = Ended(events=count, position=position, digest=digest)
        if self._next != {"end": self.tenant, **ended.document()}:
            raise self._lines.wrong("closes another journal than stands above it")
        self.ended = ended

    def is_unread(self, id: EpisodeId, position: int) -> bool:
        return id in self.unread or position > self.unread_after

    def is_gone(self, position: int, owner: Owner | None) -> bool:
        return (position, owner) in self.gone

    def _event(self, document: Mapping[str, Any]) -> Chained:
        sealing = self._lines.sealing
        try:
            event = read_event(document)
            entries = [_entry(*each) for each in document["sealed"]]
            opened = [(entry[0], sealing.open_payload(self.tenant, event.position, entry)) for entry in entries]
        except (KeyError, TypeError, ValueError) as exc:
            raise self._lines.wrong("is no event of a backup") from exc
        except (Incorrect, NotFound) as exc:
            raise self._lines.wrong(f"cannot be read: {exc.message}") from exc
        for owner, each in opened:
            if each is None or not each.whole:
                self.gone[event.position, owner] = NO_DIGEST if each is None else each.payload.digest
        return event, tuple(each.payload for _, each in opened if each is not None)


def _entry(owner: Owner | None, sealed: str | None, generation: int, quoting: int, parts: list[Any]) -> Entry:
    return owner, sealed, int(generation), int(quoting), [(id, text, int(at)) for id, text, at in parts]


class BackupLines:
    """The lines of a backup, read once and checked for form and seal; what the events say is for their reader."""

    def __init__(self, lines: Iterable[bytes], sealing: Sealing, tree: str) -> None:
        """Raises `Unsupported` for what is no backup of this format, `Incorrect` for one sealed with other keys."""
        self.sealing = sealing
        self._lines = enumerate(lines, 1)
        self._number = 0
        self._digest = hashlib.sha256()
        header = self.next("the header")
        if header.get("format") != FORMAT:
            raise Unsupported("line 1 is not the header of a backup; give what `vigencia backup` wrote")
        if header.get("version") != FORMAT_VERSION:
            raise Unsupported(f"a backup of version {shown(header.get('version'))}; this reads {FORMAT_VERSION}")
        if header.get("keys") != tree:
            raise Incorrect(
                f"the backup was sealed with the keys {shown(header.get('keys'))}, and not with {tree!r}",
                remedy="give its key file with VIGENCIA_BACKUP_KEYS",
            )
        self._ended: dict[str, object] = {}

    def tenants(self) -> Iterator[TenantLines]:
        """Each tenant in turn; then the manifest is checked. Raises `Incorrect`."""
        while "manifest" not in (document := self.next("the manifest")):
            try:
                part = TenantLines(self, document)
            except (KeyError, TypeError, ValueError) as exc:
                raise self.wrong("does not open a tenant") from exc
            yield part
            if part.ended is None:
                raise ValueError("the events of a tenant were not read")
            self._ended[part.tenant] = part.ended.document()
        seal = _vouched(self.sealing, self._before, self._ended)
        if document["manifest"] != self._ended or not hmac.compare_digest(str(document.get("seal")), seal):
            raise self.wrong("is a manifest that does not vouch for the lines above it")
        if next(self._lines, None) is not None:
            raise self.wrong("is the manifest, but more follows")

    def next(self, wanted: str) -> dict[str, Any]:
        try:
            self._number, line = next(self._lines)
        except StopIteration:
            raise Incorrect(f"the backup ends before {wanted}; it is cut", remedy=_AGAIN) from None
        self._before = self._digest.digest()
        self._digest.update(line)
        try:
            document = orjson.loads(line)
        except ValueError as exc:
            raise self.wrong("is not JSON") from exc
        if not isinstance(document, dict):
            raise self.wrong("is no line of a backup")
        return document

    def wrong(self, why: str) -> Incorrect:
        """The error about the line at hand."""
        return Incorrect(f"line {self._number} of the backup {why}; it is damaged or altered", remedy=_AGAIN)


def tree_of(lines: Iterable[bytes]) -> str:
    """The name of the keys with which a backup is sealed. Raises `Unsupported` for what is no backup."""
    try:
        header = orjson.loads(next(iter(lines), b""))
        if header["format"] == FORMAT:
            return str(header["keys"])
    except (KeyError, TypeError, ValueError):
        pass
    raise Unsupported("line 1 is not the header of a backup; give what `vigencia backup` wrote")


def _vouched(sealing: Sealing, lines: bytes, tenants: Mapping[str, object]) -> str:
    said = lines + orjson.dumps(tenants)
    return hmac.new(sealing.keys.of_manifests(), said, hashlib.sha256).hexdigest()
