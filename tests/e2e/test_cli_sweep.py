"""On the command line: a time to live, and the sweep after it."""

import time
from pathlib import Path

import pytest

from tests.e2e.command_line import CommandLine
from tests.e2e.test_cli_serving import serving

NONE = {"expired": 0, "erased": 0, "verbatims": 0, "keys": 0, "handoffs": 0, "receipts": 0}


@pytest.fixture
def vigencia(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def remember(vigencia: CommandLine, value: str, ttl: str, *more: str) -> None:
    done = vigencia("remember", "mira", "lives_in", value, "--type", "entity", "--ttl", ttl, *more)
    assert done.code == 0, done.err


def test_what_has_expired_is_not_shown_and_a_sweep_says_how_much_it_was(vigencia: CommandLine) -> None:
    remember(vigencia, "oslo", "PT1S", "--valid-from", "2020-01-01")
    time.sleep(1.1)
    assert vigencia("state", "mira", "--json").document["items"] == []
    (reason,) = vigencia("why", _only_fact(vigencia), "--json").document["items"]
    assert reason["fact"]["expired"]
    assert vigencia("sweep", "--dry-run", "--json").document == {"dry_run": True, **NONE, "expired": 1}
    done = vigencia("sweep")
    assert done.rows[-6:] == [["expired", "1"], *([name, "0"] for name in list(NONE)[1:])]
    assert vigencia("sweep", "--json").document == {"dry_run": False, **NONE}
    assert vigencia("journal", "verify", "--refold").code == 0


def _only_fact(vigencia: CommandLine) -> str:
    exported = vigencia("journal", "export").out
    start = exported.index("fct_")
    return exported[start : start + len("fct_abcdefgh_2_0")].rstrip('\\"')


def test_a_sweep_is_of_every_tenant_or_of_one(vigencia: CommandLine) -> None:
    remember(vigencia, "oslo", "PT1S", "--tenant", "red")
    remember(vigencia, "oslo", "PT1S", "--tenant", "blue")
    time.sleep(1.1)
    assert vigencia("sweep", "--tenant", "red", "--json").document["expired"] == 1
    assert vigencia("sweep", "--json").document["expired"] == 1


def test_a_worker_sweeps_by_itself(vigencia: CommandLine) -> None:
    vigencia.environment["VIGENCIA_SWEEP_SECONDS"] = "0.2"
    remember(vigencia, "oslo", "PT1S", "--valid-from", "2020-01-01")
    with serving(vigencia) as server:
        deadline = time.monotonic() + 60
        states: list[str] = []
        while states != ["expired"] and time.monotonic() < deadline:
            time.sleep(0.2)
            states = [claim["state"] for claim in server.get("/v1/claims?subject=mira")["items"]]
    assert states == ["expired"]


def test_a_ttl_or_a_setting_that_cannot_be_is_refused(vigencia: CommandLine) -> None:
    done = vigencia("remember", "mira", "lives_in", "oslo", "--type", "entity", "--ttl", "P1M")
    assert (done.code, "years and months" in done.err) == (2, True)
    vigencia.environment["VIGENCIA_VERBATIM_TTL"] = "90 days"
    done = vigencia("sweep")
    assert done.code == 2
    assert "'verbatim_ttl' cannot be" in done.err
    assert "P30D" in done.err


def test_a_sweep_needs_a_store(vigencia: CommandLine) -> None:
    assert vigencia("sweep").code == 3
