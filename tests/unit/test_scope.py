import pytest

from ontology.errors import Incorrect, shown
from ontology.scope import Scope, check_name, scope_of


def test_a_scope_has_defaults_for_all_but_the_tenant() -> None:
    assert scope_of("acme") == Scope(tenant="acme", namespace="default", purpose="general")  # type: ignore[arg-type]
    assert scope_of("acme", "sales", "support") != scope_of("acme")


@pytest.mark.parametrize("name", ["a", "0", "acme", "a.b_c-d", "9lives", "a" * 64])
def test_a_name_is_kept_as_it_is(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "a" * 65, "Acme", ".a", "-a", "_a", "a b", "a/b", "ä", "a\n", "a\x00", "٣", "ⅸ", "a" * 1_000_000],
    ids=shown,
)
def test_what_is_no_name_is_refused_in_short(name: str) -> None:
    with pytest.raises(Incorrect, match="tenant") as caught:
        check_name(name, "tenant", "/tenant")

    (violation,) = caught.value.violations
    assert (violation.pointer, violation.code) == ("/tenant", "bad_name")
    assert len(violation.detail) < 300


@pytest.mark.parametrize(
    ("names", "where"), [(("A",), "/tenant"), (("a", "B"), "/namespace"), (("a", "b", "C"), "/purpose")]
)
def test_a_scope_says_which_of_its_names_is_wrong(names: tuple[str, ...], where: str) -> None:
    with pytest.raises(Incorrect) as caught:
        scope_of(*names)

    assert caught.value.violations[0].pointer == where
