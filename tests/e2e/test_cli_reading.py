"""What a person sees who asks memory from the command line: the story of Mira's passport, and what is wrong."""

from pathlib import Path

import pytest

from api.cli import app
from api.commands.answering import EXIT_CODES, EXIT_OF
from api.problems import ALL_PROBLEMS
from tests.e2e.command_line import CommandLine


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """A store with the story."""
    line = CommandLine(tmp_path_factory.mktemp("told"))
    assert line("demo").code == 0
    return line


@pytest.fixture
def vigencia(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def test_the_demonstration_answers_the_story(told: CommandLine) -> None:
    done = told("demo")
    assert [row[1] for row in done.rows] == ["2026-06-30", "2026-07-15", "2026-07-15", "2026-06-30", "2026-07-15"]
    assert "vigencia why" in done.err
    assert [len(row["answer"]["items"]) for row in told("demo", "--json").document] == [1] * 5


def test_the_demonstration_spares_a_store_that_holds_something_else(vigencia: CommandLine) -> None:
    vigencia("remember", "ada", "note", "mine")
    done = vigencia("demo")
    assert done.code == 5
    assert "--tenant" in done.err
    assert vigencia("demo", "--tenant", "demo").code == 0


def test_a_question_in_words_is_answered_with_the_packet_of_an_agent(told: CommandLine) -> None:
    question = "What did we believe on 2 June 2026 about the passport deadline of mira on 10 June 2026?"
    done = told("recall", question)

    assert done.code == 0
    assert "- Mira Duarte passport deadline 2026-07-15 (from 2026-06-01;" in done.out
    assert "2026-06-30" not in done.out
    assert "'on 2 June 2026': known_at 2026-06-02T00:00:00Z" in done.err
    document = told("recall", question, "--json", "--limit", "1").document
    assert document["text"].startswith("Recalled memory.")
    assert [line["sentence"] for line in document["lines"]] == ["Mira Duarte passport deadline 2026-07-15"]
    assert told("recall", "Who is Zacharias?").code == 3
    assert told("recall", "Where does mira live?", "--kind", "rumour").code == 2
    stated = told("recall", "Where did mira live on 2 June 2026?", "--valid-at", "2022-01-01")
    assert "- mira lives in oslo (" in stated.out  # no name of theirs is known of that time
    assert "not used: as stated" in stated.err


@pytest.mark.parametrize(
    ("flags", "deadline"),
    [
        ((), "2026-06-30"),
        (("--valid-at", "2026-06-02"), "2026-07-15"),
        (("--valid-at", "2026-06-10"), "2026-06-30"),
        (("--valid-at", "2026-06-10", "--known-at", "2026-06-02"), "2026-07-15"),
        (("--valid-at", "2026-06-03T10:00:00Z"), "2026-06-30"),
        (("--valid-at", "2026-06-03T11:59:59.999999+02:00"), "2026-07-15"),
    ],
)
def test_state_at_two_instants(told: CommandLine, flags: tuple[str, ...], deadline: str) -> None:
    done = told("state", "mira", "passport_deadline", *flags)
    assert done.code == 0
    assert [row[:3] for row in done.rows] == [["mira", "passport_deadline", deadline]]
    assert done.err.startswith("valid at 2026-")
    assert ", known at 2026-06-0" in done.err
    document = told("state", "mira", "passport_deadline", "--json", *flags).document
    assert document["items"][0]["value"] == {"type": "date", "value": deadline}
    assert set(document) == {"items", "next_cursor", "as_of"}


def test_a_correction_changes_the_past_of_the_world_and_not_that_of_belief(told: CommandLine) -> None:
    def deadline(*flags: str) -> str:
        return told("state", "mira-corrected", "passport_deadline", "--valid-at", "2026-06-02", *flags).rows[0][2]

    assert deadline() == "2026-06-30"
    assert deadline("--known-at", "2026-06-02") == "2026-07-15"


def test_all_of_a_subject_and_what_points_at_it(told: CommandLine) -> None:
    assert {row[1] for row in told("state", "mira").rows} == {
        "name", "type", "lives_in", "works_at", "prefers_answers", "passport_deadline",
    }  # fmt: skip
    assert [row[0] for row in told("state", "fjordwind", "employs").rows] == ["mira", "jonas"]


def test_more_rows_than_a_page_has_are_walked(vigencia: CommandLine) -> None:
    lines = "".join(f'{{"subject": "ada", "predicate": "note", "value": "{n}"}}\n' for n in range(450))
    assert vigencia("load", "-", stdin=lines).code == 0
    document = vigencia("state", "ada", "--limit", "420", "--json").document
    assert len({row["id"] for row in document["items"]}) == 420
    assert document["next_cursor"] is not None
    assert len(vigencia("state", "ada", "--limit", "1000").rows) == 450
    dated = vigencia("state", "ada", "--limit", "420", "--valid-at", "2030-01-01", "--json").document
    assert len(dated["items"]) == 420


def test_history_shows_each_period(told: CommandLine) -> None:
    done = told("history", "mira", "lives_in")
    assert [row[2:5] for row in done.rows] == [
        ["lisbon", "2020-01-01", "2021-03-01"],
        ["oslo", "2021-03-01", "2023-06-01"],
        ["lisbon", "2023-06-01", "open"],
    ]
    assert [row[2:5] for row in told("history", "mira", "lives_in", "--valid-at", "2022-01-01").rows] == [
        ["oslo", "2021-03-01", "2023-06-01"]
    ]


def test_diff_shows_what_changed_in_what_is_believed(told: CommandLine) -> None:
    done = told("diff", "mira", "passport_deadline", "--known-from", "2026-06-02")
    assert [(row[0], row[3], row[4]) for row in done.rows] == [
        ("-", "2026-07-15", "2026-06-03T10:00:00Z"),
        ("+", "2026-06-30", "2026-06-03T10:00:00Z"),
    ]
    assert "2026-06-03T10:00:00Z" in done.err
    nothing = told("diff", "mira", "--known-from", "2026-06-03T10:00:00Z", "--json")
    assert nothing.document["added"] == []


def test_why_says_who_said_so_and_what_replaced_it(told: CommandLine) -> None:
    then = told("why", "mira", "passport_deadline", "--valid-at", "2026-06-10", "--known-at", "2026-06-02", "--json")
    [reason] = then.document["items"]
    assert [(c["source"], c["episode"], c["observed_at"], c["position"]) for c in reason["claims"]] == [
        ("mira", "epi_mira_1", "2026-06-01T09:00:00Z", 3)
    ]
    assert reason["made_in"]["principal"] == "importer"
    assert reason["made_in"]["recorded_at"] == "2026-06-01T09:00:00Z"
    assert reason["ended_in"]["recorded_at"] == "2026-06-03T10:00:00Z"
    assert [f["value"]["value"] for f in reason["replaced_by"]] == ["2026-07-15", "2026-06-30"]
    past = told("why", "mira", "passport_deadline", "--valid-at", "2026-06-02", "--json").document["items"][0]
    assert past["ended_in"] is None
    assert [f["value"]["value"] for f in past["followed_by"]] == ["2026-06-30"]


def test_why_takes_the_id_of_a_fact(told: CommandLine) -> None:
    fact = told("state", "mira", "passport_deadline").rows[0][-1]
    done = told("why", fact)
    assert done.code == 0
    assert "said by mira in epi_mira_2" in done.out
    assert told("why", "fct_aaaaaaaa_1_0").code == 3
    assert told("why", "fct_nonsense").code == 3


def test_nothing_found_is_exit_code_3(told: CommandLine) -> None:
    for command in (("state", "nobody"), ("history", "nobody"), ("why", "nobody"), ("state", "mira", "lives_inn")):
        done = told(*command)
        assert done.code == 3
        assert done.out == ""


def test_a_store_that_is_not_there_is_not_made_by_a_question(vigencia: CommandLine) -> None:
    done = vigencia("state", "mira", "--json")
    assert done.code == 3
    assert "vigencia init" in done.err
    assert done.document["type"] == "/problems/not-found"
    assert not (vigencia.folder / "vigencia.db").exists()


@pytest.mark.parametrize(
    ("command", "code", "slug"),
    [
        (("state", "mira", "--valid-at", "2026-06-10T10:00:00"), 2, "naive-instant"),
        (("state", "mira", "--valid-at", "soon"), 2, "invalid-request"),
        (("state", "mira", "--known-at", "2999-01-01"), 2, "future-known-at"),
        (("why", "mira", "--known-at", "2999-01-01"), 2, "future-known-at"),
        (("state", "mira", "--namespace", "Not A Name"), 2, "invalid-request"),
        (("state", "mira", "--tenant", "Not A Name"), 2, "invalid-request"),
        (("state", "mira", "--store", "postgres://x"), 2, "invalid-request"),
        (("state", "\x00"), 2, "invalid-request"),
        (("remember", "mira", "passport_deadline", "tomorrow"), 2, "invalid-request"),
        (("remember", "mira", "monthly_rent", "3 USD"), 4, "ontology-violation"),
        (("remember", "mira", "lives_in", "fjordwind"), 4, "ontology-violation"),
        (("remember", "mira", "note", "x", "--valid-from", "2026-02-01", "--valid-to", "2026-01-01"), 4,
         "ontology-violation"),
        (("ontology", "check", "nowhere.yaml"), 3, "not-found"),
        (("load", "nowhere.jsonl"), 3, "not-found"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_a_problem_on_both_streams(
    told: CommandLine, command: tuple[str, ...], code: int, slug: str
) -> None:
    done = told(*command, "--json")
    assert done.code == code
    assert done.document["type"] == f"/problems/{slug}"
    assert done.err.startswith(f"{slug}: ")
    assert "→" in done.err
    quiet = told(*command)
    assert quiet.code == code
    assert quiet.out == ""


def test_each_problem_type_has_an_exit_code() -> None:
    assert EXIT_OF.keys() == ALL_PROBLEMS.keys()
    assert set(EXIT_OF.values()) <= EXIT_CODES.keys()


def test_wrong_usage_is_exit_code_2(vigencia: CommandLine) -> None:
    assert vigencia("state").code == 2
    assert vigencia("state", "mira", "--colour").code == 2
    assert vigencia("invent").code == 2


def test_a_command_that_is_interrupted_ends_with_130(told: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("api.commands.asking.asking", press)
    assert told("state", "mira").code == 130


def test_remember_says_what_it_changed(vigencia: CommandLine) -> None:
    assert vigencia("init", "--pack", "demo").code == 0
    first = vigencia("remember", "ada", "lives_in", "oslo", "--valid-from", "2020", "--source", "ada")
    assert first.rows[0][0] == "created"
    dry = vigencia("remember", "ada", "lives_in", "lisbon", "--valid-from", "2021-06-01", "--dry-run", "--json")
    assert dry.document["dry_run"] is True
    assert dry.document["items"][0]["result"] == "superseded"
    assert vigencia("state", "ada", "lives_in").rows[0][2] == "oslo"
    second = vigencia("remember", "ada", "lives_in", "lisbon", "--valid-from", "2021-06-01", "--key", "k1")
    again = vigencia("remember", "ada", "lives_in", "lisbon", "--valid-from", "2021-06-01", "--key", "k1")
    assert again.out == second.out
    assert "before" in again.err
    other = vigencia("remember", "ada", "lives_in", "paris", "--valid-from", "2021-06-01", "--key", "k1")
    assert other.code == 5


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (None, "42", {"type": "text", "value": "42"}),
        ("integer", "42", {"type": "integer", "value": 42}),
        ("boolean", "true", {"type": "boolean", "value": True}),
        ("quantity", "3.5 kg", {"type": "quantity", "value": "3.5", "unit": "kg"}),
        ("json", '{"a": [1]}', {"type": "json", "value": {"a": [1]}}),
        ("date", "2026-06", {"type": "date", "value": "2026-06"}),
    ],
)
def test_a_value_is_read_as_the_type_that_is_named(
    vigencia: CommandLine, kind: str | None, text: str, value: object
) -> None:
    typed = () if kind is None else ("--type", kind)
    assert vigencia("remember", "ada", "measure", text, *typed).code == 0
    assert vigencia("state", "ada", "measure", "--json").document["items"][0]["value"] == value


def test_scopes_share_nothing(vigencia: CommandLine) -> None:
    vigencia("remember", "ada", "note", "secret", "--namespace", "one")
    assert vigencia("state", "ada").code == 3
    assert vigencia("state", "ada", "--namespace", "two").code == 3
    assert vigencia("state", "ada", "--namespace", "one", "--purpose", "other").code == 3
    assert vigencia("state", "ada", "--namespace", "one", "--tenant", "other").code == 3
    assert vigencia("state", "ada", "--namespace", "one").rows[0][2] == "secret"


def test_control_characters_do_not_reach_the_terminal(vigencia: CommandLine) -> None:
    vigencia("remember", "ada", "note", "a\u202eb\u0085c")
    assert "\u202e" not in vigencia("state", "ada").out


def test_help_leads_with_examples() -> None:
    for command in app.registered_commands:
        assert command.callback is not None
        assert (command.callback.__doc__ or "").count(f"vigencia {command.callback.__name__}") >= 2


def test_help_comes_quickly_and_reads_nothing_heavy(vigencia: CommandLine) -> None:
    import subprocess
    import sys

    program = (
        "import sys, api.cli; heavy = {'fastapi', 'pydantic', 'orjson', 'yaml', 'uvicorn', 'sqlite3', 'rich.table'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
    done = vigencia.run("--help")
    assert done.code == 0
    assert "serve" in done.out


@pytest.mark.parametrize(("width", "has_fact"), [(80, False), (140, True)])
def test_a_table_fits_the_terminal(told: CommandLine, width: int, has_fact: bool) -> None:
    out = told.on_terminal(width, "history", "mira", "passport_deadline")
    assert "2026-06-03T10:00:00Z" in out
    assert ("fct_" in out) == has_fact
    assert all(len(line.rstrip()) <= width for line in out.splitlines())
    assert "mira" in told.on_terminal(80, "state", "lisbon", "residents")
