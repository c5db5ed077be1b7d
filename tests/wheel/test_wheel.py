"""Does the wheel hold the four packages with their data, and run where nothing else is?"""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"ontology", "graph", "consolidation", "api"}
CLEAN_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIGENCIA_"))}


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, env=CLEAN_ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ".", cwd=ROOT)
    [built] = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel and what it depends on."""
    home = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(home, with_pip=True)
    interpreter = home / "bin" / "python"
    run(interpreter, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel, cwd=home)
    return interpreter


def test_the_wheel_holds_the_four_packages_and_nothing_else(wheel: Path) -> None:
    top_level = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in top_level if not name.endswith(".dist-info")} == PACKAGES


def test_the_wheel_carries_what_the_code_reads_at_run_time(wheel: Path) -> None:
    shipped = set(zipfile.ZipFile(wheel).namelist())
    data = {
        path.relative_to(ROOT).as_posix()
        for package in sorted(PACKAGES)
        for pattern in ("py.typed", "*.py", "*.sql", "*.cypher", "*.yaml", "*.md", "*.ttl", "ui/**/*.*")
        for path in (ROOT / package).rglob(pattern)
    }
    assert {f"{package}/py.typed" for package in PACKAGES} | {"graph/sqlite_store/queries.sql"} <= data
    assert any(name.startswith("ontology/packs/") for name in data)
    assert data - shipped == set()


def test_the_command_runs_in_a_clean_environment(python: Path, tmp_path: Path) -> None:
    assert "serve" in run(python.with_name("vigencia"), "--help", cwd=tmp_path)


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_the_four_names_are_ours_alone(package: str, python: Path, tmp_path: Path) -> None:
    program = f"import {package}, importlib.metadata as m; print(m.packages_distributions()[{package!r}])"
    assert run(python, "-c", program, cwd=tmp_path).strip() == "['vigencia']"
