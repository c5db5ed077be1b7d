"""What a person sees who searches from the command line."""

import pytest

from tests.e2e.command_line import CommandLine


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """A store with the story."""
    line = CommandLine(tmp_path_factory.mktemp("told"))
    assert line("demo").code == 0
    return line


def test_a_search_shows_sentences_with_their_periods_best_first(told: CommandLine) -> None:
    done = told("search", "passport deadline of mira", "--about", "mira")

    assert done.code == 0
    best = ["now", "Mira Duarte passport deadline 2026-06-30", "2026-06-03T10:00:00Z", "open"]
    assert done.rows[0][1:5] == best
    assert "known at 2026-" in done.err
    assert "3 facts hold at another time; --history shows more" in done.err
    assert "words alone are searched" in done.err


def test_the_history_and_another_instant_are_asked_for_by_flags(told: CommandLine) -> None:
    asked = ("search", "passport deadline", "--about", "mira", "--predicate", "passport_deadline")

    assert [row[1] for row in told(*asked, "--history").rows] == ["now", "earlier"]
    (before,) = told(*asked, "--valid-at", "2026-06-02").rows
    assert before[2] == "Mira Duarte passport deadline 2026-07-15"


def test_as_json_it_is_the_answer_of_the_api(told: CommandLine) -> None:
    document = told("search", "mira passport", "--json", "--limit", "1", "--recipe", "words").document

    assert len(document["items"]) == 1
    assert (document["recipe"], document["vectors"]["reason"]) == ("words", "recipe")
    assert document["truncated"]["by"] == ["limit"]


def test_nothing_found_and_what_cannot_be_asked_have_exit_codes_of_their_own(told: CommandLine) -> None:
    assert told("search", "zubrowka").code == 3
    assert told("search", "mira", "--kind", "opinion").code == 2
    assert told("search", "mira", "--about", "nobody").code == 3
    assert "names" in told("search", "mira", "--about", "nobody").err
