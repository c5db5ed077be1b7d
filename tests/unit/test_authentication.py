"""Who calls: keys that are issued, expire and are revoked, and the machine itself while there are none."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from api.auth.authentication import REMEMBERED_SECONDS, Authentication
from api.auth.issued import IssuedKeys, Issuer, new_secret, prefix_of
from api.auth.key_file import read_keys
from api.auth.principals import ForeignOrigin, Principal, local_agent
from graph.access import AccessStore
from graph.ports import MemoryStore
from graph.sqlite_store.store import SqliteStore
from ontology.access import ApiKey, PrincipalKind
from ontology.errors import Incorrect, NotFound, Unauthenticated, Unavailable
from ontology.grants import read_permits
from ontology.instants import OPEN_END, SECOND, Instant
from ontology.scope import Tenant
from tests.conftest import FrozenClock, SeededRandomness

HERE = {b"host": b"localhost"}
STATIC = "- {key: vg_a-static-long-key, tenant: acme, principal: ann}"


class Counting:
    """An access store that counts look-ups, and may be away."""

    def __init__(self, store: AccessStore) -> None:
        self._store = store
        self.asked = 0
        self.away = False

    def __getattr__(self, name: str) -> Any:
        self.asked += 1
        if self.away:
            raise Unavailable("the store is away")
        return getattr(self._store, name)


@dataclass
class Desk:
    """One server, and a desk at which keys are issued."""

    store: MemoryStore
    clock: FrozenClock
    issuer: Issuer
    counting: Counting
    server: Authentication
    tick: list[float] = field(default_factory=lambda: [100.0])

    def key(self, principal: str = "ann", expires_at: Instant = OPEN_END) -> tuple[str, ApiKey]:
        permits = read_permits("notes:read")
        return self.issuer.issue(
            principal, PrincipalKind.AGENT, permits, expires_at=expires_at, may_import=False
        )  # fmt: skip

    def ask(self, bearer: str | None, client: str = "203.0.113.9") -> Principal | ForeignOrigin:
        headers = HERE if bearer is None else {**HERE, b"authorization": f"Bearer {bearer}".encode()}
        return self.server.look_up(client, headers)

    def refused(self, bearer: str | None, words: str) -> None:
        with pytest.raises(Unauthenticated, match=words):
            self.ask(bearer)

    def later(self, seconds: float) -> None:
        self.tick[0] += seconds
        self.clock.advance(int(seconds * SECOND))


def desk_of(static: str | None = None) -> Desk:
    store, clock, tick = SqliteStore(":memory:"), FrozenClock(), [100.0]
    counting = Counting(store.access)
    server = Authentication(
        local=local_agent(Tenant("default")), issued=IssuedKeys(counting, clock),
        static=None if static is None else read_keys(static), now_us=clock.now, monotonic=lambda: tick[0],
    )  # fmt: skip
    issuer = Issuer(store, clock, SeededRandomness(), "acme", "person")
    return Desk(store=store, clock=clock, issuer=issuer, counting=counting, server=server, tick=tick)


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = desk_of()
    yield desk
    desk.store.close()


def test_a_key_is_marked_long_and_never_the_same() -> None:
    randomness = SeededRandomness()
    made = [new_secret(randomness) for _ in range(100)]

    assert len({secret.text for secret in made}) == len({secret.prefix for secret in made}) == 100
    for secret in made:
        mark, prefix, chance = secret.text.split("_")
        assert (mark, prefix, len(prefix), len(chance)) == ("vg", secret.prefix, 8, 52)
    assert [prefix_of(text) for text in (made[0].text, f"vg_{made[0].prefix}", made[0].prefix)] == [made[0].prefix] * 3


def test_the_store_has_the_digest_of_a_key_and_not_the_key(desk: Desk) -> None:
    text, key = desk.key()

    assert text.split("_")[2] not in repr(desk.store.access.keys(Tenant("acme"), limit=10, after=""))
    assert key.prefix == text.split("_")[1]


def test_a_key_names_its_principal_tenant_and_grants(desk: Desk) -> None:
    caller = desk.ask(desk.key("ben")[0])

    assert isinstance(caller, Principal)
    assert (caller.name, caller.tenant, caller.local) == ("ben", "acme", False)
    assert caller.permits == read_permits("notes:read")


def test_a_key_that_differs_in_one_letter_is_unknown(desk: Desk) -> None:
    text, _ = desk.key()
    desk.refused(text[:-1] + ("a" if text[-1] != "a" else "b"), "not one that this server knows")
    desk.refused(text[:12], "not one that this server knows")
    desk.refused("vg_", "not one that this server knows")


def test_a_key_expires_by_the_clock(desk: Desk) -> None:
    text, _ = desk.key(expires_at=Instant(desk.clock.now() + SECOND // 2))
    desk.ask(text)
    desk.later(0.4)
    desk.ask(text)
    desk.later(0.1)
    desk.refused(text, "expired at 2026")


def test_a_revoked_key_ends_within_a_second_though_it_was_just_used(desk: Desk) -> None:
    text, key = desk.key()
    desk.ask(text)
    assert desk.issuer.revoke(f"vg_{key.prefix}").revocation is not None

    desk.later(REMEMBERED_SECONDS)
    desk.refused(text, "was revoked")
    assert REMEMBERED_SECONDS <= 1


def test_a_key_is_looked_up_once_a_second_and_what_is_unknown_each_time(desk: Desk) -> None:
    text, _ = desk.key()
    for _ in range(5):
        desk.ask(text)
    assert desk.counting.asked == 1
    desk.later(1)
    desk.ask(text)
    assert desk.counting.asked == 2
    for _ in range(3):
        desk.refused("vg_unknown", "not one")
    assert desk.counting.asked == 5


def test_the_first_key_closes_the_server_and_revoking_it_does_not_open_it(desk: Desk) -> None:
    assert desk.ask(None, "127.0.0.1") == local_agent(Tenant("default"))
    assert isinstance(desk.ask(None), ForeignOrigin)

    _, key = desk.key()
    desk.later(REMEMBERED_SECONDS)
    desk.refused(None, "no key")
    desk.issuer.revoke(key.prefix)
    desk.later(REMEMBERED_SECONDS)
    desk.refused(None, "no key")


def test_while_it_is_open_the_store_is_asked_once_a_second(desk: Desk) -> None:
    assert desk.server.at_once("127.0.0.1", HERE) is None
    for _ in range(5):
        assert isinstance(desk.ask(None, "127.0.0.1"), Principal)
    assert isinstance(desk.server.at_once("127.0.0.1", HERE), Principal)
    assert desk.counting.asked == 1


def test_nobody_is_let_in_while_the_store_is_away(desk: Desk) -> None:
    text, _ = desk.key()
    desk.counting.away = True
    for bearer in (None, text):
        with pytest.raises(Unavailable):
            desk.ask(bearer, "127.0.0.1")


def test_an_unknown_bearer_is_refused_on_this_machine_too(desk: Desk) -> None:
    with pytest.raises(Unauthenticated):
        desk.ask("vg_left-over", "127.0.0.1")


@pytest.mark.parametrize("header", [b"", b"Bearer", b"Bearer ", b"Basic dnM6", b"vg_a-static-long-key", b"Bearer \xff"])
def test_whoever_has_no_known_key_is_unknown(header: bytes) -> None:
    desk = desk_of(STATIC)
    with pytest.raises(Unauthenticated):
        desk.server.look_up("127.0.0.1", {**HERE, b"authorization": header})


def test_a_static_key_needs_no_look_up() -> None:
    desk = desk_of(STATIC)
    for scheme in (b"Bearer ", b"bearer  "):
        caller = desk.server.at_once(None, {b"authorization": scheme + b"vg_a-static-long-key "})
        assert isinstance(caller, Principal)
        assert caller.name == "ann"
    assert desk.counting.asked == 0


def test_a_key_that_would_hold_at_no_time_is_not_made_and_an_unknown_one_not_revoked(desk: Desk) -> None:
    with pytest.raises(Incorrect, match="at no time"):
        desk.key(expires_at=desk.clock.now())
    with pytest.raises(Incorrect, match="names no principal"):
        desk.key(" ann")
    with pytest.raises(NotFound):
        desk.issuer.revoke("nope")
    assert not desk.store.access.has_keys()
