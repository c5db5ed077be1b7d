"""What can be set, and where each setting comes from: flags, then the environment, then `config.toml`.

This is the only module that reads the environment. Nothing is read at import.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from ontology.durations import parse_duration
from ontology.errors import Incorrect, Violation, shown
from ontology.scope import check_name

PREFIX: Final = "VIGENCIA_"
CONFIG_VARIABLE: Final = "VIGENCIA_CONFIG"
"""Names another `config.toml` than that of the platform's directory."""
HIDDEN: Final = "***"
"""What is shown of a secret."""
SECRETS: Final = frozenset({"neo4j_password", "embedder_key", "mcp_key"})
SQLITE: Final = "sqlite:///"
MEMORY: Final = ":memory:"
NEO4J: Final = "neo4j"
"""The store at `NEO4J_URI`."""

EMBEDDERS: Final = ("sentence-transformers", "openai")
EXTRACTORS: Final = ("mappings", "rules", "llm")
_LEVELS: Final = ("debug", "info", "warning", "error")
_FORMATS: Final = ("text", "json")
_STORES: Final = (
    "give 'sqlite:///PATH', 'sqlite:////ABSOLUTE/PATH', 'sqlite:///:memory:', 'neo4j', 'neo4j://HOST:PORT' or "
    "'bolt://HOST:PORT' (with +s for TLS, +ssc for a certificate of one's own)"
)
_BOLT: Final = re.compile(r"(neo4j|bolt)(\+s|\+ssc)?://", re.IGNORECASE)
_PASSWORD: Final = re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://[^:@/]*):.*@", re.IGNORECASE | re.DOTALL)
_ADDRESSES: Final = frozenset({"store", "neo4j_uri"})
"""Settings that name a server, or a file."""
_OF_TESTS: Final = ("VIGENCIA_SOAK", "VIGENCIA_PROPERTY_MINUTES", "VIGENCIA_STRESS_MINUTES", "VIGENCIA_TEST_")
"""How the variables begin that only the tests read."""


class Origin(StrEnum):
    """Where a setting comes from; the earlier wins."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    FILE = "config.toml"
    DEFAULT = "default"


def _store(url: str) -> str:
    if url == NEO4J or (url.startswith(SQLITE) and url != SQLITE):
        return url
    if not _BOLT.match(url):
        raise ValueError(_STORES)
    return _address(url)


def _address(uri: str) -> str:
    """The address of a Neo4j, without what belongs into other settings."""
    if not _BOLT.match(uri):
        raise ValueError("give neo4j://HOST:PORT or bolt://HOST:PORT (with +s for TLS)")
    if "@" in uri:
        raise ValueError("an address has no user and no password; give NEO4J_USERNAME and NEO4J_PASSWORD")
    try:
        parts = urlsplit(uri)
        host, path = parts.hostname, parts.path
        _ = parts.port
    except ValueError as exc:
        raise ValueError(f"{exc}; give neo4j://HOST:PORT or bolt://HOST:PORT") from None
    if not host:
        raise ValueError("it names no host; give neo4j://HOST:PORT or bolt://HOST:PORT")
    if path not in ("", "/"):
        raise ValueError(f"an address has no path; name the database with NEO4J_DATABASE={path.strip('/')}")
    return uri


def _level(name: str) -> str:
    if name.lower() not in _LEVELS:
        raise ValueError(f"give one of {', '.join(_LEVELS)}")
    return name.lower()


def _duration(text: str) -> str:
    try:
        parse_duration(text, "")
    except Incorrect as exc:
        raise ValueError(exc.message) from None
    return text


def _format(name: str) -> str:
    if name.lower() not in _FORMATS:
        raise ValueError(f"give one of {', '.join(_FORMATS)}")
    return name.lower()


def _extractors(names: str) -> str:
    listed = [name.strip() for name in names.split(",")]
    if not all(listed) or not set(listed) <= set(EXTRACTORS):
        raise ValueError(f"give some of {', '.join(EXTRACTORS)}, with commas between")
    return ",".join(listed)


def _embedder(name: str) -> str:
    kind, _, model = name.partition(":")
    if kind not in EMBEDDERS or not model.strip():
        raise ValueError("give sentence-transformers:FOLDER_OR_NAME, or openai:MODEL for a server")
    return name


def _http(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
        raise ValueError("give http://HOST:PORT/v1 or https://HOST/v1, without a user")
    return url


def _header(key: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[!-~]+", key.get_secret_value()):
        raise ValueError("it has characters that no header can carry")
    return key


def _tenant(name: str) -> str:
    try:
        return check_name(name, "tenant")
    except Incorrect as exc:
        raise ValueError(exc.message) from None


class Settings(BaseSettings):
    """Everything that can be set. A field `port` is `VIGENCIA_PORT` in the environment, `port` in `config.toml`.

    Those that Neo4j's own tools have are named as there: `neo4j_uri` is `NEO4J_URI`.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, env_ignore_empty=True)

    store: Annotated[str, AfterValidator(_store)] = Field(
        "sqlite:///vigencia.db",
        description=(
            "where memory is kept: `sqlite:///PATH`, `sqlite:///:memory:` for this process only, `neo4j` for the "
            "server at `NEO4J_URI`, or its address"
        ),
    )
    neo4j_uri: str = Field(
        "bolt://localhost:7687",
        validation_alias="neo4j_uri",
        description="where the Neo4j server is: `bolt://`, or `neo4j://` for a cluster; `+s` for TLS",
    )
    neo4j_username: str = Field(
        "neo4j", min_length=1, validation_alias="neo4j_username", description="who we are to the Neo4j server"
    )
    neo4j_password: SecretStr | None = Field(
        None, validation_alias="neo4j_password", description="the password there; without one no user is named either"
    )
    neo4j_database: str = Field(
        "neo4j", min_length=1, validation_alias="neo4j_database", description="which database of the Neo4j server"
    )
    store_wait_seconds: float = Field(
        60.0, ge=0, le=3600, description="how long `serve` waits at its start for a store that is away"
    )
    host: str = Field("127.0.0.1", description="the address to listen on; off loopback keys are required")
    port: int = Field(8321, ge=0, le=65_535, description="the port to listen on; 0 takes a free one")
    keys_file: Path | None = Field(None, description="the file of static bearer keys, each for one tenant")
    sources_file: Path | None = Field(None, description="the file of sources: how far each is trusted, its keys")
    tenant: Annotated[str, AfterValidator(_tenant)] = Field(
        "default", description="the tenant of the command line, and of a server without keys"
    )
    jwt_issuer: str | None = Field(None, description="whose tokens (JWT) are taken: their `iss`, to the letter")
    jwt_audience: str | None = Field(None, description="for whom a token must be: its `aud`")
    jwt_jwks: str | None = Field(
        None, description="where the public keys of that issuer are (JWKS): an `https://` URL, or a file"
    )
    jwt_tenant_claim: str = Field("tenant", description="the claim of a token that says the tenant")
    jwt_principal_claim: str = Field("sub", description="the claim that says the principal")
    jwt_kind_claim: str = Field("kind", description="the claim that says agent, person or service; service without")
    jwt_grants_claim: str = Field(
        "grants", description="the claim with the grants, as a list or with spaces between; none without"
    )
    lock_seconds: float = Field(
        5.0, gt=0, le=600, description="how long a writer waits for the lock before it is told to try again"
    )
    position_seconds: float = Field(
        2.0, ge=0, le=60, description="how long a read waits for its `min_position` before it is told to try again"
    )
    items_max: int = Field(10_000, ge=1, le=100_000, description="how many items one transaction may have")
    body_bytes_max: int = Field(
        16_777_216, ge=1024, le=268_435_456, description="how many bytes the body of one request may have"
    )
    episode_bytes_max: int = Field(
        1_000_000, ge=1, le=16_777_216, description="how many bytes the text of one episode may have"
    )
    worker: bool = Field(True, description="whether `serve` reads episodes itself, besides any `vigencia worker`")
    extractors: Annotated[str, AfterValidator(_extractors)] = Field(
        "mappings,rules", description="what reads episodes: `mappings`, `rules`, `llm`, with commas between"
    )
    extractor_model: str | None = Field(None, description="the model of the extractor `llm`, as `provider:model`")
    model_trust: Literal["untrusted", "inferred", "observed"] = Field(
        "inferred", description="the most that what a model concludes is trusted: `untrusted`, `inferred`, `observed`"
    )
    embedder: Annotated[str, AfterValidator(_embedder)] | None = Field(
        None,
        description=(
            "what makes vectors: `sentence-transformers:FOLDER_OR_NAME` (extra `embeddings`), or `openai:MODEL` for a "
            "server at `VIGENCIA_EMBEDDER_URL`; words alone are searched without"
        ),
    )
    embedder_url: Annotated[str, AfterValidator(_http)] | None = Field(
        None, description="where that server is: what comes before `/embeddings`, such as `http://127.0.0.1:11434/v1`"
    )
    embedder_key: Annotated[SecretStr, AfterValidator(_header)] | None = Field(
        None, description="the bearer key of that server"
    )
    embedder_seconds: float = Field(30.0, gt=0, le=600, description="how long one answer of that server may take")
    embedder_batch: int = Field(32, ge=1, le=2048, description="how many texts one request to that server has")
    embedder_text_prefix: str = Field(
        "", max_length=200, description="what its model wants before each text, such as `passage: `; for that server"
    )
    embedder_question_prefix: str = Field(
        "", max_length=200, description="what it wants before a question, such as `query: `"
    )
    lease_seconds: float = Field(
        60.0, ge=1, le=3600, description="after how long without a heartbeat another worker takes an episode over"
    )
    attempts_max: int = Field(5, ge=1, le=100, description="how often an episode is tried before it is a dead letter")
    session_turns: int = Field(
        50, ge=1, le=1_000, description="how many notes of a session wait to be read before they are, while it goes on"
    )
    session_idle_seconds: float = Field(
        3600.0, ge=1, le=2_592_000, description="how long after its last note a session is ended that nobody ends"
    )
    idempotency_days: int = Field(
        7, ge=1, le=365, description="how long an idempotency key is remembered; never under one day"
    )
    verbatim_ttl: Annotated[str, AfterValidator(_duration)] | None = Field(
        None, description="after how long the words of episodes are destroyed, such as `P90D`; never without"
    )
    receipt_days: int = Field(30, ge=1, le=3650, description="how long an operation that is done keeps what came of it")
    sweep_seconds: float = Field(
        3600.0,
        ge=0,
        le=86_400,
        description="how often a worker sweeps what has expired; 0 leaves it to `vigencia sweep`",
    )
    reads_per_minute: int = Field(
        60_000, ge=0, le=100_000_000, description="how many reads a principal may ask for in a minute; 0 for any number"
    )
    writes_per_minute: int = Field(
        120_000, ge=0, le=100_000_000,
        description="how many items, notes and episodes a principal may write in a minute; 0 for any number",
    )  # fmt: skip
    streams_max: int = Field(
        100, ge=0, le=10_000, description="how many event streams a server keeps open, half of them for one principal"
    )
    mcp_tools: Literal["standard", "review", "memory"] = Field(
        "standard",
        description=(
            "which tools agents get by MCP: `standard`, `review` with those for the inbox, too, or `memory`: those of "
            "the reference memory server"
        ),
    )
    mcp_read_only: bool = Field(False, description="whether agents get by MCP only the tools that read")
    mcp_key: SecretStr | None = Field(
        None, description="the bearer key as which `vigencia mcp` acts; without one it is the local `agent`"
    )
    drain_seconds: float = Field(
        10.0, ge=0, le=3600, description="how long a server that is told to end lets requests, and its worker, finish"
    )
    backup_keys: Path | None = Field(
        None, description="the key file of backups, made by the first one; what is forgotten loses its key there"
    )
    master_key_file: Path | None = Field(
        None, description="the file of the master key that seals the key file: 64 hexadecimal digits"
    )
    log_level: Annotated[str, AfterValidator(_level)] = Field(
        "info", description="what the log tells: debug, info, warning or error"
    )
    log_format: Annotated[str, AfterValidator(_format)] = Field(
        "text", description="how the log on stderr looks: `text` for people, `json` for one JSON document a line"
    )
    audit_file: Path | None = Field(
        None, description="the file of the audit of sensitive reads, as JSON lines; the log on stderr without"
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, InitSettingsSource(settings_cls, dict(_from_file()))

    @field_validator("neo4j_uri")
    @classmethod
    def _check_neo4j_uri(cls, uri: str, given: ValidationInfo) -> str:
        """Only where it counts: the variable may be there for another program."""
        return _address(uri) if given.data.get("store") == NEO4J else uri

    @field_validator("neo4j_database")
    @classmethod
    def _check_neo4j_database(cls, name: str, given: ValidationInfo) -> str:
        if name.lower() == "system" and not str(given.data.get("store")).startswith(SQLITE):
            raise ValueError("it keeps no data; name another with NEO4J_DATABASE")
        return name

    @property
    def neo4j_address(self) -> str:
        """Where the server is, if memory is kept on one."""
        return self.neo4j_uri if self.store == NEO4J else self.store


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """One setting as it counts, fit to be shown."""

    name: str
    value: str | int | float | None
    origin: Origin
    variable: str
    description: str


def read_settings(**flags: object) -> Settings:
    """The settings that count; a flag that is `None` was not given.

    Raises `Incorrect` with a violation for each setting that cannot be read.
    """
    values: dict[str, Any] = _given(flags)
    try:
        return Settings(**values)
    except ValidationError as exc:
        raise _unreadable(exc) from None


def effective(**flags: object) -> list[Effective]:
    """Every setting with its origin, in the order of the class; secrets are masked."""
    settings = read_settings(**flags)
    given, in_file = _given(flags), _from_file()
    shown_settings = []
    for name, field in Settings.model_fields.items():
        variable = variable_of(name)
        if name in given:
            origin = Origin.FLAG
        elif os.environ.get(variable):
            origin = Origin.ENVIRONMENT
        else:
            origin = Origin.FILE if name in in_file else Origin.DEFAULT
        value = getattr(settings, name)
        shown_settings.append(
            Effective(
                name=name,
                value=_fit(name, value),
                origin=origin,
                variable=variable,
                description=field.description or "",
            )
        )
    return shown_settings


def masked(text: str) -> str:
    """`text` without the password of a URL, which may hold what a URL cannot."""
    return _PASSWORD.sub(rf"\g<before>:{HIDDEN}@", text)


def shown_of(setting: str, value: str) -> str:
    """The value of a setting, right or wrong, as far as it may be shown.

    Of an address that lacks its `://` nobody knows where the password begins: nothing before its last `@` is shown.
    """
    if setting not in _ADDRESSES or "@" not in value or value.startswith(SQLITE):
        return masked(value)
    return masked(value) if _BOLT.match(value) and masked(value) != value else f"{HIDDEN}@{value.rpartition('@')[2]}"


def variable_of(setting: str) -> str:
    """The environment variable of a setting."""
    name = setting.upper()
    return name if Settings.model_fields[setting].validation_alias else PREFIX + name


def config_file() -> Path:
    """Where `config.toml` is looked for; it need not exist."""
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        return Path(named)
    import typer

    return Path(typer.get_app_dir("vigencia")) / "config.toml"


def unknown_variables() -> list[str]:
    """Variables that look like settings and are none, each with what may have been meant."""
    known = {variable_of(name) for name in Settings.model_fields}
    found = []
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in {*known, CONFIG_VARIABLE} and not name.startswith(_OF_TESTS):
            bare = name.removeprefix(PREFIX)
            near = [bare] if bare in known else difflib.get_close_matches(name, known, n=1)
            found.append(f"{name}, did you mean {near[0]}?" if near else f"{name} is no setting")
    return found


def _fit(name: str, value: object) -> str | int | float | None:
    """A value fit to be shown."""
    if isinstance(value, SecretStr):
        return HIDDEN
    return value if value is None or isinstance(value, int | float) else shown_of(name, str(value))


def _given(flags: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in flags.items() if value is not None}


def _from_file() -> dict[str, object]:
    file = config_file()
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as exc:
        name = shown(str(file), 400)
        raise Incorrect(f"the configuration {name} cannot be read: {exc}; correct or remove it") from exc


def _unreadable(exc: ValidationError) -> Incorrect:
    violations = []
    for error in exc.errors():
        name = str(error["loc"][0]) if error["loc"] else ""
        if error["type"] == "extra_forbidden":
            near = difflib.get_close_matches(name, Settings.model_fields, n=1)
            code, detail = "unknown_setting", f"there is no setting {name!r}"
            detail += f"; did you mean {near[0]!r}?" if near else "; `vigencia config show` lists them"
        else:
            told = str(error["msg"]).removeprefix("Value error, ")
            given = error["input"]
            value = HIDDEN if name in SECRETS else shown(shown_of(name, given) if isinstance(given, str) else given)
            code, detail = "bad_setting", f"the setting {name!r} cannot be {value}: {told}"
        violations.append(Violation(pointer=f"/{name}", code=code, detail=detail))
    return Incorrect("; ".join(v.detail for v in violations), violations=violations)
