"""Every known way to be wrong about belief is noticed by the oracles, the naive model, or the window check."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.mutants.kill import KILLED
from tests.mutants.mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 120.0
"""A mutant that runs longer is stuck, which is noticed too."""


def run(folder: Path, mutant: Mutant | None) -> subprocess.CompletedProcess[str]:
    """The check on a copy of `ontology` in `folder`, patched where there is a mutant."""
    shutil.copytree(ROOT / "ontology", folder / "ontology")
    if mutant is not None:
        path = folder / "ontology" / f"{mutant.module}.py"
        path.write_text(patched(path.read_text(encoding="utf-8"), mutant), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    environment.pop("PYTHONSAFEPATH", None)
    return subprocess.run(
        [sys.executable, "-m", "tests.mutants.kill"], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=SECONDS_MAX, check=False,
    )  # fmt: skip


def patched(source: str, mutant: Mutant) -> str:
    times = source.count(mutant.old)
    if times != 1:
        raise ValueError(f"{mutant.name}: its text occurs {times} times in {mutant.module}.py, not once")
    return source.replace(mutant.old, mutant.new)


def outcome(folder: Path, mutant: Mutant) -> str:
    """Why a mutant lives, or nothing."""
    try:
        done = run(folder, mutant)
    except ValueError as exc:
        return str(exc)
    except subprocess.TimeoutExpired:
        return ""
    if not done.stdout.startswith(str(folder)):
        return f"{mutant.name}: the patched copy was not used: {done.stdout}{done.stderr}"
    return "" if done.returncode == KILLED else f"{mutant.name}: ended with {done.returncode} {done.stderr}"


def test_every_mutant_dies(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(len(MUTANTS))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        survivors = [found for found in pool.map(outcome, folders, MUTANTS) if found]
    assert not survivors, "\n".join(survivors)


def test_the_kernel_as_it_is_lives(tmp_path: Path) -> None:
    done = run(tmp_path, None)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mutants_have_names_of_their_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 20


def test_a_patch_that_fits_nowhere_or_twice_is_an_error() -> None:
    mutant = Mutant(name="none", module="fold", old="x", new="y")
    for source in ("", "x x"):
        with pytest.raises(ValueError, match="not once"):
            patched(source, mutant)
