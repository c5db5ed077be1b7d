"""Where the public data lies, and a store to load it into; without the data these tests skip."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from api.settings import Settings
from api.wiring import Services, SystemClock, open_services
from tests.conftest import SeededRandomness

VARIABLE: Final = "VIGENCIA_TEST_DATA"
BESIDE: Final = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the public data: `VIGENCIA_TEST_DATA`, or `../shared/data` beside the repository."""
    folder = Path(os.environ.get(VARIABLE) or BESIDE)
    if not folder.is_dir():
        pytest.skip(f"no public data at {folder}; name its folder in {VARIABLE}")
    return folder


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """An empty store on a file, under the clock of the machine."""
    file = tmp_path_factory.mktemp("data") / "data.db"
    opened = open_services(Settings(store=f"sqlite:///{file}"), SystemClock(), SeededRandomness(8))
    yield opened
    opened.close()
