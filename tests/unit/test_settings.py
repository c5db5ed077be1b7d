"""Do flags win over the environment, the environment over the file, and is what is wrong told by its name?"""

from pathlib import Path

import pytest

from api.settings import (
    Origin,
    Settings,
    config_file,
    effective,
    masked,
    read_settings,
    unknown_variables,
    variable_of,
)
from ontology.errors import Incorrect

NEO4J = ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE")


@pytest.fixture(autouse=True)
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The `config.toml` of the test; no variable of the machine reaches it."""
    for name in Settings.model_fields:
        monkeypatch.delenv(variable_of(name), raising=False)
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
        ("STORE", "neo4j:"),
        ("STORE", "bolt://"),
        ("STORE", "bolt://host:port"),
        ("STORE", "bolt://[::1"),
        ("STORE", "bolt://host:7687/memory"),
        ("STORE", "http://host:7474"),
        ("STORE_WAIT_SECONDS", "-1"),
        ("PORT", "70000"),
        ("PORT", "many"),
        ("IDEMPOTENCY_DAYS", "0"),
        ("LOCK_SECONDS", "0"),
        ("ITEMS_MAX", "0"),
        ("LOG_LEVEL", "loud"),
        ("TENANT", "Not A Name"),
        ("BODY_BYTES_MAX", "1"),
        ("EMBEDDER", "all-MiniLM-L6-v2"),
        ("EMBEDDER", "openai:"),
        ("EMBEDDER_URL", "127.0.0.1:11434/v1"),
        ("EMBEDDER_URL", "ftp://127.0.0.1/v1"),
        ("EMBEDDER_URL", "http://ada:secret@host/v1"),
        ("EMBEDDER_KEY", "two words"),
        ("EMBEDDER_SECONDS", "0"),
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


@pytest.mark.parametrize("name", ["VIGENCIA_SOAK", "VIGENCIA_STRESS_MINUTES", "VIGENCIA_TEST_NEO4J_URI"])
def test_a_variable_that_the_tests_read_is_no_misspelt_setting(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    assert not any(name in line for line in unknown_variables())


def test_without_a_variable_the_file_of_the_platform_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIGENCIA_CONFIG")
    assert config_file().name == "config.toml"


def test_a_password_is_masked() -> None:
    assert masked("neo4j://ada:secret@host:7687/db") == "neo4j://ada:***@host:7687/db"
    assert masked("sqlite:///vigencia.db") == "sqlite:///vigencia.db"


@pytest.mark.parametrize("password", ["secret", "pa@ss", "pa#ss", "pa/ss", "pa?ss", "pa:ss", "[secret", ""])
def test_a_password_that_a_url_cannot_hold_is_masked_too(password: str) -> None:
    assert masked(f"bolt://ada:{password}@host:7687") == "bolt://ada:***@host:7687"


@pytest.mark.parametrize("text", ["sqlite:////srv/a:b@c/x.db", "C:/a@b", "bolt://host:7687", "a:b@c"])
def test_what_is_no_url_with_a_password_stays(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    "address",
    [
        "bolt://db:7687",
        "neo4j://db",
        "bolt+s://db:7687",
        "neo4j+ssc://db:1",
        "bolt://[::1]:7687",
        "neo4j://db/?policy=eu",
    ],
)
def test_a_store_may_be_the_address_of_a_neo4j(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    assert read_settings(store=address).neo4j_address == address
    monkeypatch.setenv("NEO4J_URI", address)
    assert read_settings(store="neo4j").neo4j_address == address
    assert read_settings(store="bolt://nearer:7687").neo4j_address == "bolt://nearer:7687"


def test_the_names_of_neo4j_are_the_names_here(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    file.write_text('store = "neo4j"\nneo4j_username = "ada"\nneo4j_database = "memory"\n')
    monkeypatch.setenv("NEO4J_PASSWORD", "hush-hush")
    settings = read_settings()
    assert (settings.neo4j_address, settings.neo4j_username) == ("bolt://localhost:7687", "ada")
    assert settings.neo4j_database == "memory"
    assert settings.neo4j_password is not None
    assert settings.neo4j_password.get_secret_value() == "hush-hush"
    assert origin_of("neo4j_username") is Origin.FILE
    assert origin_of("neo4j_password") is Origin.ENVIRONMENT
    assert {each.variable for each in effective() if each.name.startswith("neo4j")} == set(NEO4J)


def test_no_password_is_the_default() -> None:
    assert read_settings().neo4j_password is None


def test_a_secret_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "hush-hush")
    monkeypatch.setenv("NEO4J_URI", "bolt://ada:hush-hush@host:7687")
    assert "hush" not in repr(effective()) + repr(read_settings().neo4j_password)
    monkeypatch.setenv("VIGENCIA_EMBEDDER_KEY", "hush-hush")
    assert "hush" not in repr(effective()) + repr(read_settings().embedder_key)
    monkeypatch.setenv("VIGENCIA_EMBEDDER_KEY", "hush hush")
    with pytest.raises(Incorrect) as caught:
        read_settings()
    assert "hush" not in str(caught.value)
    monkeypatch.delenv("VIGENCIA_EMBEDDER_KEY")
    assert "***" in {each.value for each in effective()}


@pytest.mark.parametrize(
    "address",
    ["bolt://ada:hush-hush@host:7687", "neo4j://:hush-hush@host", "bolt://ada@host", "bolt://ada:hush-#/hush@host"],
)
def test_a_user_or_password_in_an_address_is_refused_and_not_told(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("NEO4J_URI", address)
    for store in (address, "neo4j"):
        with pytest.raises(Incorrect, match="NEO4J_PASSWORD") as caught:
            read_settings(store=store)
        assert "hush" not in str(caught.value) + repr(caught.value.violations)
    read_settings()


def test_a_password_of_the_wrong_type_is_not_told(file: Path) -> None:
    file.write_text("neo4j_password = 12345678\n")
    with pytest.raises(Incorrect, match="neo4j_password") as caught:
        read_settings()
    assert "1234" not in str(caught.value)


def test_a_prefixed_name_of_neo4j_is_told_as_a_slip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIGENCIA_NEO4J_URI", "bolt://db")
    assert unknown_variables() == ["VIGENCIA_NEO4J_URI, did you mean NEO4J_URI?"]


@pytest.mark.parametrize(
    "address",
    [
        "neo4j:hush-hush@127.0.0.1:27687",
        "hush-hush@host",
        "neo4j:/hush-hush@host",
        "//ada:hush-hush@host:7687",
        "bolt://ada/x:hush-hush@host",
        "neo4j;//ada:hush@-hush@host",
        "postgres://ada/hush:x@host",
        "bolt://hush@host",
        " bolt://ada:hush-hush@host",
        "ada:hush-\nhush@host",
    ],
)
def test_a_password_in_what_is_no_address_is_told_nowhere(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("NEO4J_URI", address)
    assert "hush" not in repr(effective()), "another program may read the variable"
    for store in (address, "neo4j"):
        with pytest.raises(Incorrect, match=r"host|127") as caught:
            read_settings(store=store)
        assert "hush" not in str(caught.value) + repr(caught.value.violations)


def test_a_file_may_have_an_at_in_its_name() -> None:
    assert {each.value for each in effective(store="sqlite:////srv/a@b.db") if each.name == "store"} == {
        "sqlite:////srv/a@b.db"
    }


@pytest.mark.parametrize("name", ["system", "System"])
def test_the_database_of_the_server_itself_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("NEO4J_DATABASE", name)
    for store in ("neo4j", "bolt://db"):
        with pytest.raises(Incorrect, match="keeps no data; name another with NEO4J_DATABASE"):
            read_settings(store=store)
    read_settings()
