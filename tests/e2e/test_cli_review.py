"""`vigencia review`: a person decides on what an agent wrote, never on their own words."""

from pathlib import Path

import pytest

from tests.e2e.command_line import CommandLine


@pytest.fixture
def vigencia(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def held(vigencia: CommandLine) -> str:
    """A claim that the agent was told by a page."""
    from api.settings import read_settings
    from api.wiring import services
    from consolidation.items import Assert, Said
    from ontology.scope import scope_of

    vigencia("remember", "mira", "name", "Mira Lind", "--valid-from", "2020-01-01")
    item = Assert(
        subject="mira", predicate="name", value="Myra Lund",
        said=Said(valid_from="2021-01-01", source="page", trust="untrusted"),
    )  # fmt: skip
    with services(read_settings(store=vigencia.environment["VIGENCIA_STORE"])) as opened:
        receipt = opened.writer.write(scope_of("default"), "agent", [item]).receipt
    items = receipt["items"]
    assert isinstance(items, list)
    return str(items[0]["claim"])


def name(vigencia: CommandLine) -> list[str]:
    return [row["value"]["value"] for row in vigencia("state", "mira", "name", "--json").document["items"]]


def test_a_person_promotes_what_waits(vigencia: CommandLine, held: str) -> None:
    listed = vigencia("review", "list")
    assert listed.rows[0][:7] == [held, "quarantined", "untrusted", "mira", "name", "Myra Lund", "2021-01-01"]
    assert "1 wait on you, 0 for more evidence" in listed.err
    shown = vigencia("review", "show", held)
    assert "believed now: Mira Lind" in shown.err
    version = vigencia("review", "show", held, "--json").document["version"]
    assert vigencia("review", "promote", held, "--dry-run").rows[0][0] == "promoted"
    assert name(vigencia) == ["Mira Lind"]
    assert vigencia("review", "promote", held, "--version", "1").code == 5
    done = vigencia("review", "promote", held, "--version", str(version), "--reason", "asked her", "--json").document
    assert done["items"][0]["reason"] == "asked her"
    assert name(vigencia) == ["Myra Lund"]
    assert vigencia("review", "list").rows == []
    again = vigencia("review", "reject", held)
    assert (again.code, "waits no more" in again.err) == (5, True)


def test_a_person_rejects_what_waits(vigencia: CommandLine, held: str) -> None:
    assert vigencia("review", "reject", held, "--reason", "forged").rows[0][:2] == ["rejected", held]
    assert name(vigencia) == ["Mira Lind"]
    assert vigencia("review", "list", "--json").document["items"] == []


def test_nobody_decides_on_their_own_words(vigencia: CommandLine) -> None:
    told = vigencia("remember", "mira", "name", "Myra", "--trust", "untrusted", "--json")
    (item,) = told.document["items"]
    assert (item["state"], item["rule"]) == ("quarantined", "untrusted")
    refused = vigencia("review", "promote", item["claim"])
    assert (refused.code, "own-review" in refused.err) == (6, True)
