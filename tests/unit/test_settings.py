"""Do flags win over the environment, the environment over the file, and is what is wrong told by its name?"""

from pathlib import Path

import pytest

from api.settings import Origin, Settings, config_file, effective, masked, read_settings, unknown_variables
from ontology.errors import Incorrect


@pytest.fixture(autouse=True)
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The `config.toml` of the test; no variable of the machine reaches it."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"VIGENCIA_{name.upper()}", raising=False)
    path = tmp_path / "config.toml"
    monkeypatch.setenv("VIGENCIA_CONFIG", str(path))
    return path


def origin_of(name: str, **flags: object) -> Origin:
    return next(setting.origin for setting in effective(**flags) if setting.name == name)


def test_without_anything_the_defaults_count() -> None:
    settings = read_settings()
    assert settings.store == "sqlite:///vigencia.db"
    assert (settings.host, settings.port) == ("127.0.0.1", 8321)
    assert settings.items_max == 10_000
    assert settings.idempotency_days == 7
    assert {setting.origin for setting in effective()} == {Origin.DEFAULT}


def test_the_nearer_source_wins(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    file.write_text('port = 1001\ntenant = "from-file"\nhost = "localhost"\n')
    monkeypatch.setenv("VIGENCIA_PORT", "1002")
    monkeypatch.setenv("VIGENCIA_TENANT", "from-environment")
    settings = read_settings(port=1003, tenant=None)
    assert (settings.host, settings.tenant, settings.port) == ("localhost", "from-environment", 1003)
    assert origin_of("host", port=1003) is Origin.FILE
    assert origin_of("tenant", port=1003) is Origin.ENVIRONMENT
    assert origin_of("port", port=1003) is Origin.FLAG
    assert origin_of("store", port=1003) is Origin.DEFAULT


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIGENCIA_PORT", "")
    assert read_settings().port == 8321
    assert origin_of("port") is Origin.DEFAULT


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("STORE", "postgres://x"),
        ("STORE", "sqlite:///"),
        ("PORT", "70000"),
        ("PORT", "many"),
        ("IDEMPOTENCY_DAYS", "0"),
        ("LOCK_SECONDS", "0"),
        ("ITEMS_MAX", "0"),
        ("LOG_LEVEL", "loud"),
        ("TENANT", "Not A Name"),
        ("BODY_BYTES_MAX", "1"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"VIGENCIA_{name}", value)
    with pytest.raises(Incorrect) as caught:
        read_settings()
    [violation] = caught.value.violations
    assert violation.pointer == f"/{name.lower()}"
    assert violation.code == "bad_setting"


def test_a_misspelt_setting_in_the_file_is_refused_with_what_was_meant(file: Path) -> None:
    file.write_text("prot = 9000\n")
    with pytest.raises(Incorrect, match="did you mean 'port'"):
        read_settings()


def test_a_file_that_is_no_toml_is_named(file: Path) -> None:
    file.write_text("port 9000")
    with pytest.raises(Incorrect, match=str(file)):
        read_settings()


def test_a_misspelt_variable_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIGENCIA_PROT", "9000")
    assert any("VIGENCIA_PROT" in line and "VIGENCIA_PORT" in line for line in unknown_variables())


def test_without_a_variable_the_file_of_the_platform_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIGENCIA_CONFIG")
    assert config_file().name == "config.toml"


def test_a_password_is_masked() -> None:
    assert masked("neo4j://ada:secret@host:7687/db") == "neo4j://ada:***@host:7687/db"
    assert masked("sqlite:///vigencia.db") == "sqlite:///vigencia.db"


def test_the_path_of_a_store() -> None:
    assert read_settings(store="sqlite:///a/b.db").sqlite_path == "a/b.db"
    assert read_settings(store="sqlite:////srv/b.db").sqlite_path == "/srv/b.db"
    assert read_settings(store="sqlite:///:memory:").sqlite_path == ":memory:"
