"""Keys follow from the tree; of what was destroyed none does, and of all others the same as before."""

import random
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from graph.owner_keys import OwnerKeys, _path
from ontology.ids import EntityId, EpisodeId, Ledger, Owner, Place, entity_id, episode_id
from ontology.scope import Tenant

ACME, ZETA = Tenant("acme"), Tenant("zeta")
WHOLE: Final = OwnerKeys({"": bytes(range(32))})


def entity(position: int, ordinal: int = 0, ledger: str = "abcdefgh") -> EntityId:
    return entity_id(Place(Ledger(ledger), position, ordinal))


def episode(position: int, ordinal: int = 0) -> EpisodeId:
    return episode_id(Place(Ledger("abcdefgh"), position, ordinal))


places = st.tuples(st.integers(1, 40), st.integers(0, 3))
owners = st.one_of(places.map(lambda at: entity(*at)), places.map(lambda at: episode(*at)))


def test_every_owner_of_every_tenant_has_a_key_of_its_own() -> None:
    listed: list[Owner] = [
        f(position, ordinal) for f in (entity, episode) for position in range(50) for ordinal in (0, 1, 9)
    ]
    listed += [entity(1, ledger="bcdefgha")]
    keys = {WHOLE.key(tenant, owner) for tenant in (ACME, ZETA) for owner in (None, *listed)}
    assert len(keys) == 2 * (len(listed) + 1)
    assert all(key is not None and len(key) == 32 for key in keys)
    assert WHOLE.of_manifests() not in keys


def test_a_copy_of_the_tree_has_the_keys_of_owners_that_came_later() -> None:
    assert OwnerKeys(dict(WHOLE.nodes)).key(ACME, entity(10**17, 10**8)) == WHOLE.key(ACME, entity(10**17, 10**8))


@given(gone=st.lists(owners, max_size=30), asked=st.lists(owners, min_size=1))
def test_what_was_destroyed_has_no_key_and_all_else_has_the_same(gone: list[Owner], asked: list[Owner]) -> None:
    left = WHOLE.without(ACME, gone)
    for owner in (*gone, *asked):
        assert left.was_destroyed(ACME, owner) == (owner in gone)
        assert left.generation(ACME, owner) == (None if owner in gone else 0)
        assert left.key(ACME, owner) == (None if owner in gone else WHOLE.key(ACME, owner))
        assert left.key(ZETA, owner) == WHOLE.key(ZETA, owner)
    assert left.key(ACME, None) == WHOLE.key(ACME, None)
    assert left.of_manifests() == WHOLE.of_manifests()


@given(told=st.lists(st.tuples(st.booleans(), owners), max_size=12))
def test_a_key_can_be_destroyed_while_the_next_of_its_owner_stays(told: list[tuple[bool, Owner]]) -> None:
    left = WHOLE
    generations: dict[Owner, int | None] = {}
    for wholly, owner in told:
        now = generations.get(owner, 0)
        generations[owner] = None if wholly or now is None else now + 1
        left = left.without(ACME, [owner]) if wholly else left.renewed(ACME, [owner, owner])
    for owner, generation in generations.items():
        assert left.generation(ACME, owner) == generation
        for at in range(14):
            key = None if generation is None or at < generation else WHOLE.key(ACME, owner, at)
            assert left.key(ACME, owner, at) == key


@given(gone=st.lists(owners, max_size=30))
def test_no_node_that_is_left_stands_above_what_was_destroyed(gone: list[Owner]) -> None:
    nodes = WHOLE.without(ACME, gone).nodes
    paths = [_path(ACME, owner) for owner in gone]
    assert not any(path.startswith(node) for path in paths for node in nodes)
    assert not any(one != other and one.startswith(other) for one in nodes for other in nodes)


@given(gone=st.lists(owners, max_size=10))
def test_the_order_in_which_keys_are_destroyed_does_not_matter(gone: list[Owner]) -> None:
    one_by_one = WHOLE
    for owner in random.Random(1).sample(gone, len(gone)):
        one_by_one = one_by_one.without(ACME, [owner])
    assert one_by_one.nodes == WHOLE.without(ACME, gone).without(ACME, gone).nodes


def test_what_came_into_being_together_costs_little_to_destroy() -> None:
    """Two nodes for each, and the way there once; alone each would take a hundred."""
    together = WHOLE.without(ACME, [episode(position) for position in range(1024, 2048)])
    assert len(together.nodes) < 2 * 1024 + 120
