"""The shares of principals: reads and writes apart, batches by their items, and the header fields of the draft."""

import re

import pytest

from api.auth.principals import Principal
from api.rates import Rates
from api.requests import Budget
from api.settings import read_settings
from ontology.access import PrincipalKind
from ontology.errors import RateLimited
from ontology.scope import Tenant


def principal(name: str, tenant: str = "acme") -> Principal:
    return Principal(
        name=name, tenant=Tenant(tenant), kind=PrincipalKind.AGENT, permits=(), may_import=False, local=False
    )


def rates(reads: int, writes: int) -> Rates:
    settings = read_settings(store="sqlite:///:memory:", reads_per_minute=reads, writes_per_minute=writes)
    return Rates(settings)


ANN = principal("ann")


def test_what_is_beyond_the_share_is_refused_with_when_to_come_again() -> None:
    shares = rates(2, 5)
    shares.spend(ANN, Budget.READ)
    shares.spend(ANN, Budget.READ)

    with pytest.raises(RateLimited, match="'ann' may read 2 in a minute") as refused:
        shares.spend(ANN, Budget.READ)
    assert refused.value.slug == "rate-limited"
    assert refused.value.retry_after is not None
    assert 1 <= refused.value.retry_after <= 60


def test_reads_and_writes_principals_and_tenants_are_counted_apart() -> None:
    shares = rates(1, 1)
    for who in (ANN, principal("ben"), principal("ann", "other")):
        for budget in Budget:
            shares.spend(who, budget)
            with pytest.raises(RateLimited):
                shares.spend(who, budget)


def test_a_batch_counts_by_its_items_and_a_refused_one_costs_nothing() -> None:
    shares = rates(1, 10)
    shares.spend(ANN, Budget.WRITE, cost=6)

    with pytest.raises(RateLimited):
        shares.spend(ANN, Budget.WRITE, cost=5)
    shares.spend(ANN, Budget.WRITE, cost=4)


def test_a_batch_that_is_larger_than_all_of_the_share_costs_that() -> None:
    shares = rates(1, 10)
    shares.spend(ANN, Budget.WRITE, cost=10_000)

    with pytest.raises(RateLimited):
        shares.spend(ANN, Budget.WRITE)


def test_the_fields_tell_what_is_left() -> None:
    shares = rates(3, 5)
    shares.spend(ANN, Budget.WRITE, cost=2)

    fields = dict(shares.fields(ANN, Budget.WRITE))
    assert fields[b"ratelimit-policy"] == b'"write";q=5;w=60'
    assert re.fullmatch(rb'"write";r=3;t=(60|59|58)', fields[b"ratelimit"])


def test_nothing_is_counted_where_there_is_no_share() -> None:
    shares = rates(0, 0)
    for _ in range(100):
        shares.spend(ANN, Budget.READ, cost=1_000)

    assert shares.fields(ANN, Budget.READ) == []
