"""May this server be reached from other machines? Only where callers need a key."""

from pathlib import Path

import pytest

from api.auth.issued import Issuer
from api.auth.opening import check_exposure
from api.settings import Settings, read_settings
from api.wiring import services
from ontology.access import PrincipalKind
from ontology.errors import Incorrect
from ontology.grants import EVERYTHING
from ontology.instants import OPEN_END

ELSEWHERE = ["0.0.0.0", "::", "192.168.1.4", "example.org", ""]


def settings(folder: Path, **given: object) -> Settings:
    return read_settings(store=f"sqlite:///{folder / 'v.db'}", **given)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_loopback_needs_no_keys(host: str, tmp_path: Path) -> None:
    check_exposure(settings(tmp_path, host=host))


@pytest.mark.parametrize("host", ELSEWHERE)
def test_off_loopback_keys_are_required(host: str, tmp_path: Path) -> None:
    with pytest.raises(Incorrect, match="other machines"):
        check_exposure(settings(tmp_path, host=host))
    check_exposure(settings(tmp_path, host=host, keys_file=tmp_path / "keys"))
    check_exposure(settings(tmp_path, host=host, jwt_issuer="https://issuer.example"))


def test_a_key_in_the_store_will_do(tmp_path: Path) -> None:
    with services(settings(tmp_path)) as opened:
        with pytest.raises(Incorrect, match="other machines"):
            check_exposure(settings(tmp_path, host="0.0.0.0"))
        issuer = Issuer(opened.store, opened.clock, opened.randomness, "acme", "person")
        issuer.issue("ann", PrincipalKind.AGENT, EVERYTHING, expires_at=OPEN_END, may_import=False)
    check_exposure(settings(tmp_path, host="0.0.0.0"))
