import pytest

from ontology.errors import Incorrect
from ontology.grants import (
    EVERYTHING,
    Grant,
    Permit,
    granted,
    granted_everywhere,
    granted_in_every_purpose,
    permit_line,
    reaches,
    read_permit,
    read_permits,
)

PERMITS = read_permits("notes/health:read team-*:read,write *:export shared*/general:propose")


@pytest.mark.parametrize(
    ("namespace", "purpose", "held"),
    [
        ("notes", "health", {Grant.READ, Grant.EXPORT}),
        ("notes", "general", {Grant.EXPORT}),
        ("notes2", "health", {Grant.EXPORT}),
        ("team-a", "health", {Grant.READ, Grant.WRITE, Grant.EXPORT}),
        ("team-", "health", {Grant.READ, Grant.WRITE, Grant.EXPORT}),
        ("team", "health", {Grant.EXPORT}),
        ("shared", "general", {Grant.PROPOSE, Grant.EXPORT}),
        ("shared-x", "general", {Grant.PROPOSE, Grant.EXPORT}),
        ("shared", "generalx", {Grant.EXPORT}),
    ],
)
def test_a_pattern_covers_names_and_beginnings(namespace: str, purpose: str, held: set[Grant]) -> None:
    assert {grant for grant in Grant if granted(PERMITS, grant, namespace, purpose)} == held


def test_no_grant_holds_another() -> None:
    for grant in Grant:
        permits = (Permit(namespace="*", purpose="*", grants=frozenset({grant})),)
        assert [each for each in Grant if granted(permits, each, "a", "b")] == [grant]


def test_what_belongs_to_the_tenant_needs_a_grant_that_covers_everything() -> None:
    assert granted_everywhere(PERMITS, Grant.EXPORT)
    assert not granted_everywhere(PERMITS, Grant.READ)
    assert not granted_everywhere(read_permits("*/health:admin"), Grant.ADMIN)
    assert all(granted_everywhere(EVERYTHING, grant) for grant in Grant)


def test_what_purposes_share_needs_a_grant_in_all_of_them() -> None:
    assert granted_in_every_purpose(PERMITS, Grant.WRITE, "team-a")
    assert not granted_in_every_purpose(PERMITS, Grant.READ, "notes")
    assert not granted_in_every_purpose(PERMITS, Grant.PROPOSE, "shared")


def test_a_namespace_is_reached_by_any_grant() -> None:
    permits = read_permits("notes/health:read team-*:propose")
    assert [reaches(permits, name) for name in ("notes", "team-a", "note", "other")] == [True, True, False, False]


@pytest.mark.parametrize(
    "line", ["notes:read", "team-*/general:read,write", "*:all", "*/health:forget", "a/b*:review,export,admin"]
)
def test_a_permit_is_written_as_it_is_read(line: str) -> None:
    assert permit_line(read_permit(line)) == line


def test_a_permit_may_be_a_mapping() -> None:
    assert read_permit({"namespace": "notes", "grants": ["read"]}) == read_permit("notes:read")
    assert read_permit({"purpose": "health", "grants": "all"}) == read_permit("*/health:all")


@pytest.mark.parametrize(
    "given",
    [
        "", "notes", ":", "notes:", "notes/:read", "/general:read", "notes:reed", "notes:read,", "Notes:read",
        "no tes:read", "n**:read", "*n:read", "a/b/c:read", "notes:READ", 7, None, {}, {"grants": []},
        {"grants": [7]}, {"namespace": 7, "grants": ["read"]}, {"grants": ["read"], "tenant": "acme"}, ["notes:read"],
        "a" * 65 + ":read",
    ],
)  # fmt: skip
def test_what_is_no_permit_is_refused(given: object) -> None:
    with pytest.raises(Incorrect) as refused:
        read_permit(given, "/grants/0")

    assert [(v.pointer, v.code) for v in refused.value.violations] == [("/grants/0", "bad_grant")]


def test_a_list_of_permits_says_which_is_wrong_and_is_bounded() -> None:
    with pytest.raises(Incorrect) as refused:
        read_permits(["a:read", "b:rite"])
    assert refused.value.violations[0].pointer == "/1"
    with pytest.raises(Incorrect, match="at most"):
        read_permits(["a:read"] * 101)
    with pytest.raises(Incorrect, match="no list"):
        read_permits(7)
