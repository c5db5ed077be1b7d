"""What is kept of access, seen from outside, on every store: issued keys and the owners of namespaces."""

import hashlib
import threading
from dataclasses import replace

import pytest

from graph.ports import MemoryStore
from ontology.access import ApiKey, KeyState, Ownership, PrincipalKind, Revocation
from ontology.errors import Conflict, NotFound
from ontology.grants import EVERYTHING, read_permits
from ontology.instants import OPEN_END, Instant, parse_instant
from ontology.scope import Namespace, Scope, scope_of

ACME, OTHER = scope_of("acme"), scope_of("other")
DAY = parse_instant("2026-06-01")
LATER = Revocation(at=parse_instant("2026-06-05"), by="olga")
PERMITS = read_permits("notes/health:read,propose team-*:write *:export")


def key(prefix: str, scope: Scope = ACME, principal: str = "ann") -> ApiKey:
    return ApiKey(
        prefix=prefix, digest=hashlib.sha256(prefix.encode()).digest(), tenant=scope.tenant, principal=principal,
        kind=PrincipalKind.AGENT, permits=PERMITS, may_import=True, created_at=DAY, created_by="person",
        expires_at=parse_instant("2026-07-01"), revocation=None,
    )  # fmt: skip


def put(store: MemoryStore, issued: ApiKey, scope: Scope = ACME) -> ApiKey:
    with store.write(scope) as tx:
        tx.put_key(issued)
    return issued


def belongs(name: str, owner: str, since: Instant = DAY) -> Ownership:
    return Ownership(namespace=Namespace(name), owner=owner, since=since, by="person")


def test_a_store_without_keys_says_so(store: MemoryStore) -> None:
    assert not store.access.has_keys()
    assert store.access.key(bytes(32)) is None
    assert store.access.keys(ACME.tenant, limit=10, after="") == []
    assert store.access.owners(ACME.tenant, limit=10, after="") == []


def test_a_key_is_found_by_its_digest_as_it_was_issued(store: MemoryStore) -> None:
    issued = put(store, key("aaaa"))
    endless = put(store, replace(key("bbbb", principal="Zoë ✓"), may_import=False, expires_at=OPEN_END, permits=()))

    assert store.access.has_keys()
    assert store.access.key(issued.digest) == issued
    assert store.access.key(endless.digest) == endless
    assert store.access.key(bytes(32)) is None


def test_a_list_of_keys_is_the_tenants_by_prefix_and_has_pages(store: MemoryStore) -> None:
    issued = [put(store, key(prefix)) for prefix in ("cc", "aa", "dd", "bb")]
    put(store, key("ab", OTHER), OTHER)

    first = store.access.keys(ACME.tenant, limit=3, after="")
    assert [each.prefix for each in first] == ["aa", "bb", "cc"]
    assert store.access.keys(ACME.tenant, limit=3, after="cc") == [issued[2]]


def test_a_prefix_is_given_once_in_all_tenants(store: MemoryStore) -> None:
    first = put(store, key("aaaa"))

    for scope in (ACME, OTHER):
        again = replace(key("aaaa", scope), digest=bytes(32))
        with pytest.raises(Conflict, match="aaaa"):
            put(store, again, scope)
    assert store.access.key(first.digest) == first
    assert store.access.key(bytes(32)) is None


def test_a_revoked_key_is_found_as_revoked_and_stays_as_it_was_revoked_first(store: MemoryStore) -> None:
    issued = put(store, key("aaaa"))

    for revocation in (LATER, Revocation(at=parse_instant("2026-06-09"), by="ben")):
        with store.write(ACME) as tx:
            assert tx.revoke_key("aaaa", revocation).revocation == LATER
    assert store.access.key(issued.digest) == replace(issued, revocation=LATER)
    assert store.access.has_keys()


@pytest.mark.parametrize("scope", [ACME, OTHER])
def test_only_a_key_of_the_tenant_can_be_revoked(store: MemoryStore, scope: Scope) -> None:
    issued = put(store, key("aaaa"))

    with pytest.raises(NotFound, match="zzzz" if scope is ACME else "aaaa"), store.write(scope) as tx:
        tx.revoke_key("zzzz" if scope is ACME else "aaaa", LATER)
    assert store.access.key(issued.digest) == issued


def test_what_a_transaction_did_with_a_key_goes_with_it(store: MemoryStore) -> None:
    def fail() -> None:
        with store.write(ACME) as tx:
            tx.put_key(key("aaaa"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not store.access.has_keys()


def test_a_key_is_no_memory(store: MemoryStore) -> None:
    put(store, key("aaaa"))

    assert store.tenants() == []
    assert list(store.ledger(ACME.tenant)) == []


def test_whether_a_key_holds_depends_on_the_clock_and_on_its_revocation() -> None:
    issued = key("aaaa")

    assert issued.state_at(Instant(issued.expires_at - 1)) is KeyState.ACTIVE
    assert issued.state_at(issued.expires_at) is KeyState.EXPIRED
    assert replace(issued, revocation=LATER).state_at(DAY) is KeyState.REVOKED
    assert replace(issued, expires_at=OPEN_END, permits=EVERYTHING).state_at(LATER.at) is KeyState.ACTIVE


def test_a_namespace_belongs_to_nobody_until_it_is_given(store: MemoryStore) -> None:
    notes = scope_of("acme", "notes", "health")
    with store.write(notes) as tx:
        assert tx.owner() is None
        tx.own(belongs("notes", "ann"))
        assert tx.owner() == belongs("notes", "ann")

    for scope, owner in ((scope_of("acme", "notes"), belongs("notes", "ann")), (ACME, None)):
        with store.write(scope) as tx:
            assert tx.owner() == owner
    with store.write(scope_of("other", "notes")) as tx:
        assert tx.owner() is None


def test_a_namespace_is_given_on_and_what_was_rolled_back_was_not(store: MemoryStore) -> None:
    with store.write(scope_of("acme", "notes")) as tx:
        tx.own(belongs("notes", "ann"))

    def fail() -> None:
        with store.write(scope_of("acme", "notes")) as tx:
            tx.own(belongs("notes", "olga"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert store.access.owners(ACME.tenant, limit=10, after="") == [belongs("notes", "ann")]

    with store.write(scope_of("acme", "notes")) as tx:
        tx.own(belongs("notes", "ben", LATER.at))
    assert store.access.owners(ACME.tenant, limit=10, after="") == [belongs("notes", "ben", LATER.at)]


def test_a_list_of_owners_is_the_tenants_by_name_and_has_pages(store: MemoryStore) -> None:
    for tenant, name in (("acme", "c"), ("acme", "a"), ("other", "b"), ("acme", "d")):
        with store.write(scope_of(tenant, name)) as tx:
            tx.own(belongs(name, "ann"))

    assert [each.namespace for each in store.access.owners(ACME.tenant, limit=2, after="")] == ["a", "c"]
    assert [each.namespace for each in store.access.owners(ACME.tenant, limit=2, after="c")] == ["d"]


def test_of_two_first_writers_one_becomes_the_owner(store: MemoryStore) -> None:
    scope = scope_of("acme", "notes")
    found: list[str] = []
    start = threading.Barrier(2)

    def first(name: str) -> None:
        start.wait()
        with store.write(scope) as tx:
            owner = tx.owner()
            if owner is None:
                tx.own(belongs("notes", name))
            found.append(name if owner is None else owner.owner)

    threads = [threading.Thread(target=first, args=(name,)) for name in ("ann", "ben")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(found)) == 1
    assert len(found) == 2
