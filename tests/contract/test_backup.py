"""A backup becomes the same store again, on every store; one that was touched becomes nothing at all."""

from base64 import b64decode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from consolidation.episodes import NewEpisode, Recorder
from consolidation.items import Quoted
from graph.access import AccessStore
from graph.backup import BackedUp, back_up
from graph.ledger import ledger_hash
from graph.owner_keys import OwnerKeys
from graph.ports import MemoryStore
from graph.restore import Restored, restore
from graph.sealing import Sealing
from graph.sealing import _bound as bound
from graph.transfer import verify_events
from ontology.access import ApiKey, Ownership, PrincipalKind, Revocation
from ontology.errors import Conflict, Incorrect, Unsupported, VigenciaError
from ontology.grants import read_permits
from ontology.ids import EpisodeId, OperationId, Owner
from ontology.instants import OPEN_END, SECOND, Instant
from ontology.operations import State
from ontology.scope import Namespace, Scope, Tenant, scope_of
from tests.conftest import SeededRandomness
from tests.contract.world import SCOPE, World, claim, correct, erase
from tests.naive_store import NaiveStore

ACME: Final = SCOPE.tenant
ZETA: Final = scope_of("zeta")
TREE: Final = "a tree"
LATER: Final = Instant(OPEN_END - 1)
MARKER: Final = "ZX-MARKER-77"
Lines = list[bytes]
Alter = Callable[[Lines], Iterable[bytes]]


@dataclass
class Vault:
    """The keys of backups, as a key file has them, and what seals with them."""

    keys: OwnerKeys
    seed: int = 0

    def sealing(self) -> Sealing:
        self.seed += 1
        return Sealing(self.keys, SeededRandomness(self.seed))

    def back_up(self, store: MemoryStore, *tenants: Tenant) -> tuple[Lines, BackedUp]:
        lines: Lines = []
        named = tenants or tuple(store.tenants())
        done = back_up(store, named, self.sealing(), lines.append, tree=TREE, made_at=Instant(0))
        return lines, done

    def restore(self, store: MemoryStore, lines: Iterable[bytes], *, resume: bool = False) -> Restored:
        whole = list(lines)
        return restore(store, lambda: whole, self.sealing(), tree=TREE, now=LATER, resume=resume)

    def destroy(self, tenant: Tenant, *owners: Owner) -> None:
        self.keys = self.keys.without(tenant, owners)


@pytest.fixture
def vault() -> Vault:
    return Vault(OwnerKeys({"": bytes(range(32))}))


def lived(world: World) -> MemoryStore:
    """A world of two tenants in which things were said, corrected and erased."""
    world.declare("lives_in", scope=ZETA)
    world.tell("anna", "lives_in", "Porto", "2020")
    world.tell("anna", "lives_in", "Riga", "2022")
    world.write(claim("ben", "works_for", "Acme", "2019"), claim("ben", "note", MARKER))
    world.write(correct("ben", "works_for", "Acme", "2020-01-01", "Apex"))
    world.tell("cleo", "lives_in", "Oslo", "2021")
    world.write(erase("cleo", "lives_in", "Oslo"))
    world.tell("anna", "lives_in", "Bonn", "2021", scope=ZETA)
    return world.store


def record(world: World, *texts: str, session: str | None = None, scope: Scope = SCOPE) -> list[OperationId]:
    recorder = Recorder(store=world.store, clock=world.clock, randomness=SeededRandomness(9))
    told = [NewEpisode(text=text, session=session) for text in texts]
    receipt: dict[str, Any] = recorder.record(scope, "teller", told).receipt
    world.clock.advance(SECOND)
    return [OperationId(item["operation"]) for item in receipt["items"]]


def key(principal: str, *, tenant: Tenant = ACME, revoked: bool = False) -> ApiKey:
    return ApiKey(
        prefix=f"vg_{principal}", digest=principal.encode().ljust(32, b"."), tenant=tenant, principal=principal,
        kind=PrincipalKind.SERVICE, permits=read_permits(["*:read", "team-*/sales:write,review"]), may_import=True,
        created_at=Instant(5), created_by="me", expires_at=Instant(OPEN_END),
        revocation=Revocation(at=Instant(9), by="you") if revoked else None,
    )  # fmt: skip


def test_a_restored_store_holds_the_same(world: World, vault: Vault) -> None:
    store = lived(world)
    before = {tenant: (ledger_hash(store, tenant), head(store, tenant)) for tenant in store.tenants()}
    lines, done = vault.back_up(store)

    copy = NaiveStore()
    restored = vault.restore(copy, lines)

    assert {tenant: (ledger_hash(copy, tenant), head(copy, tenant)) for tenant in copy.tenants()} == before
    assert (restored.tenants, restored.events, restored.unreadable) == (done.tenants, done.events, 0)
    assert (done.left_out, len(done.tenants)) == (0, 2)


def test_a_backup_of_any_store_is_restored_into_this_one(store: MemoryStore, vault: Vault) -> None:
    world = World(NaiveStore())
    world.declare("lives_in", "works_for")
    original = lived(world)
    lines, _ = vault.back_up(original)

    vault.restore(store, lines)

    assert [ledger_hash(store, t) for t in store.tenants()] == [ledger_hash(original, t) for t in original.tenants()]
    again, _ = vault.back_up(store)
    assert skeletons(again) == skeletons(lines)


def test_no_word_of_memory_stands_in_a_backup(world: World, vault: Vault) -> None:
    store = lived(world)
    record(world, f"my code is {MARKER}", session=f"session {MARKER}")
    with store.write(SCOPE) as tx:
        tx.own(Ownership(namespace=Namespace("default"), owner=MARKER, since=Instant(1), by=MARKER))
    lines, _ = vault.back_up(store)
    assert all(word not in line for line in lines for word in (MARKER.encode(), b"Porto", b"lives_in", b"anna"))


def test_one_tenant_can_be_backed_up_alone(world: World, vault: Vault) -> None:
    lines, done = vault.back_up(lived(world), ACME)
    copy = NaiveStore()
    vault.restore(copy, lines)
    assert list(done.tenants) == copy.tenants() == [ACME]


def test_what_is_said_after_a_restore_goes_on_from_there(world: World, vault: Vault) -> None:
    store = lived(world)
    copy = World(NaiveStore())
    vault.restore(copy.store, vault.back_up(store)[0])
    copy.clock.advance(3600 * SECOND)
    copy.tell("anna", "lives_in", "Kyiv", "2024")
    assert copy.state("anna", "lives_in", "2025-01-01") == ["Kyiv"]
    assert head(copy.store).position == head(store).position + 1


def test_keys_and_owners_are_restored_and_a_revoked_key_stays_revoked(store: MemoryStore, vault: Vault) -> None:
    world = World(NaiveStore())
    original = lived(world)
    with original.write(SCOPE) as tx:
        for each in (key("ann"), key("bob", revoked=True)):
            tx.put_key(replace(each, revocation=None))
        tx.revoke_key("vg_bob", Revocation(at=Instant(9), by="you"))
        owned = Ownership(namespace=Namespace("team"), owner="ann", since=Instant(3), by="me")
        tx.own(owned)

    restored = vault.restore(store, vault.back_up(original)[0])

    assert store.access.keys(ACME, limit=9, after="") == [key("ann"), key("bob", revoked=True)]
    assert store.access.key(key("ann").digest) == key("ann")
    assert store.access.owners(ACME, limit=9, after="") == [owned]
    assert (restored.keys, restored.owners) == (2, 1)


def test_a_tenant_that_has_keys_alone_is_restored(store: MemoryStore, vault: Vault) -> None:
    original = NaiveStore()
    with original.write(SCOPE) as tx:
        tx.put_key(key("ann"))
    vault.restore(store, vault.back_up(original, ACME)[0])
    assert store.access.keys(ACME, limit=9, after="") == [key("ann")]


def test_what_is_not_read_yet_is_queued_again_and_what_was_read_is_not(store: MemoryStore, vault: Vault) -> None:
    world = World(NaiveStore())
    done, dead, leased, waits = record(world, "a", "b", "c", "d", session="s")
    queue, original = world.store.queue, world.store
    (read,) = queue.lease("w", LATER, until=LATER, limit=1)
    assert queue.complete(read, b"[]", Instant(1))
    (failed,) = queue.lease("w", LATER, until=LATER, limit=1)
    assert queue.give_up(failed, "no", Instant(1))
    assert len(queue.lease("w", LATER, until=LATER, limit=9)) == 1

    restored = vault.restore(store, vault.back_up(original)[0])

    states = {id: store.queue.operation(SCOPE, id).state for id in (dead, leased, waits)}
    assert set(states.values()) == {State.QUEUED}
    assert restored.queued == 3
    assert store.queue.unread(ACME, limit=9, after=None) == [dead, leased, waits]
    with pytest.raises(VigenciaError, match=done):
        store.queue.operation(SCOPE, done)
    (first,) = store.queue.lease("w", LATER, until=LATER, limit=9)
    assert (first.operation.id, first.operation.principal) == (dead, "teller"), "one session is read in its order"
    with store.read(SCOPE) as reader:
        words = reader.recorded_episode(first.operation.episode).verbatim
    assert words is not None
    assert words.body == "b"


def test_an_episode_that_came_while_the_backup_was_made_is_to_be_read(vault: Vault) -> None:
    """Between the look at what is to be read and the snapshot of the journal."""

    class Busy(NaiveStore):
        @property
        def access(self) -> AccessStore:
            if not self.queue.unread(ACME, limit=2, after=None)[1:]:
                record(world, "late")
            return super().access

    world = World(Busy())
    record(world, "early")
    copy = NaiveStore()
    restored = vault.restore(copy, vault.back_up(world.store)[0])
    assert restored.queued == 2


# ---- what was forgotten


def test_what_was_forgotten_since_is_restored_by_nobody_and_all_else_is(store: MemoryStore, vault: Vault) -> None:
    world = World(NaiveStore())
    original = lived(world)
    (operation,) = record(world, f"a secret {MARKER}")
    lines, _ = vault.back_up(original)
    ben, anna = world.id("ben"), world.id("anna")
    episode = EpisodeId(operation.replace("opr", "epi", 1))
    vault.destroy(ACME, ben, episode)

    restored = vault.restore(store, lines)

    assert restored.unreadable == 3
    assert not any(MARKER in str(row) for tenant in store.tenants() for row in store.ledger(tenant))
    assert ledger_hash(store, ACME, subject=ben) == ledger_hash(NaiveStore(), ACME)
    assert ledger_hash(store, ACME, subject=anna) == ledger_hash(original, ACME, subject=anna)
    assert ledger_hash(store, ZETA.tenant) == ledger_hash(original, ZETA.tenant)
    with store.write(SCOPE) as tx:
        assert tx.payloads_about(ben) == tx.payloads_about(episode) == []
        assert tx.payloads_about(anna)


def test_no_key_that_is_left_opens_what_was_forgotten(world: World, vault: Vault) -> None:
    """An old backup, and everything that the key file still has: 0 bytes of the marker can be read."""
    store = lived(world)
    lines, _ = vault.back_up(store)
    ben = world.id("ben")
    entries = sealed_entries(lines)
    opened = [vault.sealing().open_payload(ACME, *entry) for entry in entries]
    assert sum(each is not None and MARKER.encode() in each.payload.body for each in opened) == 1

    vault.destroy(ACME, ben)

    sealing = vault.sealing()
    left = [sealing.open_payload(ACME, *entry) for entry in entries]
    assert not any(each is not None and MARKER.encode() in each.payload.body for each in left)
    keys = [sealing.keys.key(ACME, entry[0]) for _, entry in entries if entry[0] != ben]
    for position, (owner, sealed, *_) in entries:
        for key in [*keys, *sealing.keys.nodes.values(), sealing.keys.of_manifests()] if owner == ben else ():
            assert key is not None
            raw = b64decode(sealed)
            with pytest.raises(InvalidTag):
                AESGCM(key).decrypt(raw[:12], raw[12:], bound(ACME, owner, position))


def sealed_entries(lines: Lines) -> list[tuple[int, Any]]:
    """(position, entry) of each payload of the first tenant."""
    found = documents(lines)
    found = found[: next(number for number, document in enumerate(found) if "end" in document)]
    return [(event["position"], entry) for event in events(found) for entry in event["sealed"]]


def quoting(world: World) -> EpisodeId:
    """Two claims of two subjects quote one episode, and one of them another in the same breath."""
    one, other = (
        EpisodeId(operation.replace("opr", "epi", 1))
        for operation in record(world, f"{MARKER} is in Oslo", "Ben knows Riga")
    )
    quote = Quoted(turn=None, start=0, end=20, text=f"{MARKER} is in Oslo")
    riga = Quoted(turn=None, start=4, end=14, text="knows Riga")
    world.write(
        claim("ben", "note", "first", episode=other, source="s", quote=riga),
        claim("anna", "lives_in", "Oslo", "2024", episode=one, source="s", quote=quote),
        claim("ben", "note", "second", episode=one, source="s", quote=quote),
        claim("ben", "note", "third", episode="elsewhere", source="s", quote=riga),
    )
    return one


def test_what_claims_quote_comes_back_to_the_byte(world: World, vault: Vault) -> None:
    quoting(world)
    copy = NaiveStore()
    assert vault.restore(copy, vault.back_up(world.store)[0]).unreadable == 0
    assert ledger_hash(copy, ACME) == ledger_hash(world.store, ACME)
    assert verify_events(copy, ACME) == []


def test_what_others_quoted_of_what_was_forgotten_goes_and_their_claims_stay(store: MemoryStore, vault: Vault) -> None:
    world = World(NaiveStore())
    world.declare("lives_in")
    episode = quoting(world)
    lines, _ = vault.back_up(world.store)
    assert all(MARKER.encode() not in line for line in lines)

    vault.keys = vault.keys.renewed(ACME, [episode])

    opened = [vault.sealing().open_payload(ACME, *entry) for entry in sealed_entries(lines)]
    assert not any(each is not None and MARKER.encode() in each.payload.body for each in opened)
    restored = vault.restore(store, lines)
    assert restored.unreadable == 3, "the words, and two payloads that quoted them"
    copy = World(store)
    assert copy.state("anna", "lives_in", "2025-01-01") == ["Oslo"]
    with store.read(SCOPE) as reader:
        told = reader.claims(copy.id("ben"), "note", limit=9, after=None)
        quotes = reader.quotes([each.claim.id for each in told])
    texts = {each.claim.value.text: quotes.get(each.claim.id) for each in told if each.claim.value is not None}
    assert {text: quote and quote.text for text, quote in texts.items()} == {
        "first": "knows Riga", "second": None, "third": "knows Riga",
    }  # fmt: skip


def test_what_stays_of_an_owner_is_sealed_anew_and_what_was_destroyed_of_it_stays_unread(
    world: World, vault: Vault
) -> None:
    store = lived(world)
    (operation,) = record(world, MARKER)
    old, _ = vault.back_up(store)
    vault.keys = vault.keys.renewed(ACME, [EpisodeId(operation.replace("opr", "epi", 1))])
    new, done = vault.back_up(store)

    copy, other = NaiveStore(), NaiveStore()
    assert vault.restore(copy, new).unreadable == done.left_out == 0
    assert vault.restore(other, old).unreadable == 1
    assert ledger_hash(copy, ACME) == ledger_hash(store, ACME)
    assert not any(row for kind, row in other.ledger(ACME) if kind == "kept")


def test_a_backup_made_after_forgetting_leaves_out_what_has_no_key(world: World, vault: Vault) -> None:
    store = lived(world)
    vault.destroy(ACME, world.id("ben"))
    lines, done = vault.back_up(store)
    assert done.left_out == 2
    restored = vault.restore(NaiveStore(), lines)
    assert restored.unreadable == 2


# ---- what was touched


def documents(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in lines]


def written(documents: Iterable[dict[str, Any]]) -> Lines:
    return [orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE) for document in documents]


def skeletons(lines: Lines) -> list[object]:
    kept = [{name: value for name, value in each.items() if name != "sealed"} for each in documents(lines)]
    return [each for each in kept if "manifest" not in each]


def events(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [document for document in found if "position" in document and "end" not in document]


def flipped(lines: Lines) -> Lines:
    """One bit of the ciphertext of one payload."""
    found = documents(lines)
    entry = next(event for event in events(found) if event["sealed"])["sealed"][0]
    entry[1] = entry[1][:40] + ("A" if entry[1][40] != "A" else "B") + entry[1][41:]
    return written(found)


def swapped(lines: Lines) -> Lines:
    """Two events have changed places."""
    found = documents(lines)
    one, other = (found.index(event) for event in events(found)[:2])
    found[one], found[other] = found[other], found[one]
    return written(found)


def moved_within(lines: Lines) -> Lines:
    """The payload of one position stands at another of the same owner."""
    found = documents(lines)
    mine = [event for event in events(found) if any(owner for owner, *_ in event["sealed"])]
    owner = next(owner for owner, *_ in mine[0]["sealed"] if owner)
    one, other, *_ = [entry for event in mine for entry in event["sealed"] if entry[0] == owner]
    one[1], other[1] = other[1], one[1]
    return written(found)


def of_no_owner(lines: Lines) -> Lines:
    """The id of an owner is damaged."""
    found = documents(lines)
    event = next(event for event in events(found) if event["sealed"][-1][0])
    event["sealed"][-1][0] = "ent-1"
    return written(found)


def without_a_payload(lines: Lines) -> Lines:
    found = documents(lines)
    next(event for event in events(found) if event["sealed"])["sealed"].pop()
    return written(found)


def of_another_tenant(lines: Lines) -> Lines:
    """What one tenant has is said to be another's."""
    found = documents(lines)
    for document in found:
        for name in ("tenant", "end"):
            if document.get(name) == "acme":
                document[name] = "other"
    return written(found)


def without_a_tenant(lines: Lines) -> Lines:
    """A whole tenant is cut out, and the manifest says so."""
    found = documents(lines)
    first = next(number for number, document in enumerate(found) if "tenant" in document)
    last = next(number for number, document in enumerate(found) if "end" in document)
    del found[-1]["manifest"][found[first]["tenant"]]
    return written(found[:first] + found[last + 1 :])


ALTERED: Final[dict[str, tuple[Alter, str]]] = {
    "a flipped bit": (flipped, "does not open with its key"),
    "events in another order": (swapped, "not later than the event before it"),
    "a payload at another position": (moved_within, "does not open with its key"),
    "a payload that was taken out": (without_a_payload, "is missing and no event destroyed it"),
    "an owner that is none": (of_no_owner, "no entity 'ent-1'"),
    "another tenant": (of_another_tenant, "does not open with its key"),
    "a tenant that was taken out": (without_a_tenant, "does not vouch"),
    "nothing": (lambda lines: [], "ends before the header"),
    "the header alone": (lambda lines: lines[:1], "ends before the manifest"),
    "no manifest": (lambda lines: lines[:-1], "ends before the manifest"),
    "half a line": (lambda lines: [*lines[:4], lines[4][:50]], "is not JSON"),
    "more lines": (lambda lines: [*lines, lines[-1]], "more follows"),
    "another seal": (lambda lines: [*lines[:-1], lines[-1].replace(b'"seal":"', b'"seal":"0')], "does not vouch"),
    "a line that is none": (lambda lines: [*lines[:3], b"[]\n", *lines[3:]], "no line of a backup"),
    "a line of another kind": (lambda lines: [lines[0], b"{}\n", *lines[1:]], "does not open a tenant"),
}


@pytest.mark.parametrize("altered", ALTERED)
def test_a_backup_that_was_touched_is_refused_and_nothing_is_restored(vault: Vault, altered: str) -> None:
    world = World(NaiveStore())
    lines, _ = vault.back_up(lived(world))
    alter, told = ALTERED[altered]
    copy = NaiveStore()
    with pytest.raises(Incorrect, match=told):
        vault.restore(copy, alter(lines))
    assert copy.tenants() == []
    assert not copy.access.has_keys()


def test_what_is_no_backup_is_told_from_one(vault: Vault) -> None:
    world = World(NaiveStore())
    lines, _ = vault.back_up(lived(world))
    with pytest.raises(Unsupported, match="not the header of a backup"):
        vault.restore(NaiveStore(), [b'{"format":"vigencia-journal"}\n', *lines[1:]])
    with pytest.raises(Unsupported, match="version 2; this reads 1"):
        vault.restore(NaiveStore(), [lines[0].replace(b'"version":1', b'"version":2'), *lines[1:]])


def test_other_keys_restore_nothing(vault: Vault) -> None:
    world = World(NaiveStore())
    lines, _ = vault.back_up(lived(world))
    copy = NaiveStore()
    with pytest.raises(Incorrect, match="was sealed with the keys 'a tree', and not with 'another'"):
        restore(copy, lambda: lines, vault.sealing(), tree="another", now=LATER)
    with pytest.raises(Incorrect, match="does not open with its key"):
        Vault(OwnerKeys({"": bytes(32)})).restore(copy, lines)
    assert copy.tenants() == []


def test_a_backup_from_the_future_is_refused(vault: Vault) -> None:
    world = World(NaiveStore())
    lines, _ = vault.back_up(lived(world))
    with pytest.raises(Incorrect, match="later than now"):
        restore(NaiveStore(), lambda: lines, vault.sealing(), tree=TREE, now=Instant(5))


# ---- where to


def test_a_store_that_has_something_is_left_as_it_is(store: MemoryStore, vault: Vault) -> None:
    lines, _ = vault.back_up(lived(World(NaiveStore())))
    World(store).tell("dora", "lives_in", "Rome", "2020")
    before = ledger_hash(store, ACME)
    for resume in (False, True):
        with pytest.raises(Conflict, match="acme"):
            vault.restore(store, lines, resume=resume)
    assert ledger_hash(store, ACME) == before


def test_a_store_that_has_keys_alone_is_not_empty(store: MemoryStore, vault: Vault) -> None:
    lines, _ = vault.back_up(lived(World(NaiveStore())))
    with store.write(ZETA) as tx:
        tx.put_key(key("zoe", tenant=ZETA.tenant))
    with pytest.raises(Conflict, match="the store has keys"):
        vault.restore(store, lines)
    assert store.tenants() == []


def test_an_interrupted_restore_goes_on(store: MemoryStore, vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(NaiveStore())
    original = lived(world)
    record(world, "a", "b")
    with original.write(SCOPE) as tx:
        tx.put_key(key("ann"))
    lines, _ = vault.back_up(original)
    monkeypatch.setattr("graph.transfer.EVENTS_PER_WRITE", 1)

    def stop(position: int) -> None:
        if position == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore(store, lambda: lines, vault.sealing(), tree=TREE, now=LATER, progress=stop)
    assert head(store).position == 4
    with pytest.raises(Conflict, match="--resume"):
        vault.restore(store, lines)
    for _ in range(2):
        vault.restore(store, lines, resume=True)
        assert [ledger_hash(store, t) for t in store.tenants()] == [
            ledger_hash(original, t) for t in original.tenants()
        ]
        assert len(store.queue.unread(ACME, limit=9, after=None)) == 2
        assert store.access.keys(ACME, limit=9, after="") == [key("ann")]


def head(store: MemoryStore, tenant: Tenant = ACME) -> Any:
    with store.read(scope_of(tenant)) as reader:
        return reader.head
