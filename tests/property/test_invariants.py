"""The bare kernel keeps every invariant of the time page."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.invariants import INVARIANTS, Invariant
from tests.property.worlds import KernelWorld


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda check: check.__name__)
@given(rng=st.randoms(use_true_random=False))
def test_the_kernel_keeps_an_invariant(invariant: Invariant, rng: Random) -> None:
    invariant(KernelWorld, rng)
