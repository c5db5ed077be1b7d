"""A Neo4j server for tests, whatever the machine has: one that is named, a container, or one started from artifacts.

In this order: `VIGENCIA_TEST_NEO4J_URI`; a container, if `testcontainers` is installed and a Docker engine answers;
a real Neo4j Community whose jars Maven fetches once into a cache outside the repository (`VIGENCIA_TEST_CACHE`, by
default `vigencia` in the user's cache folder). `VIGENCIA_TEST_NEO4J_VERSION` chooses the release.

`python -m tests.neo4j_server` prints the URI of a server and keeps it until its input ends or it is stopped.
"""

import argparse
import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from neo4j import GraphDatabase, NotificationMinimumSeverity
from neo4j.exceptions import DriverError, Neo4jError

VERSION: Final = "2026.08.1"
"""The newest calendar release that the artifact registry serves; the other one that is tested is 5.26.30."""
START_SECONDS: Final = 300.0
"""It takes 10 s where nobody else computes, and more than 100 s where many do."""

_POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>neo4j-run</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.neo4j.app</groupId><artifactId>neo4j-server</artifactId><version>{v}</version></dependency>
    <dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{v}</version></dependency>
  </dependencies>
</project>
"""
_CONF: Final = """\
server.default_listen_address=127.0.0.1
server.bolt.enabled=true
server.bolt.listen_address=127.0.0.1:{port}
server.bolt.connection_keep_alive=5s
server.http.enabled=false
server.https.enabled=false
dbms.security.auth_enabled=false
dbms.usage_report.enabled=false
server.memory.pagecache.size=512m
db.tx_log.rotation.retention_policy=keep_none
db.tx_log.preallocate=false
db.lock.acquisition.timeout=5s
db.transaction.timeout=30s
"""
_FLAGS: Final = (
    "-Xms{heap}", "-Xmx{heap}", "-XX:+UseG1GC", "-XX:-OmitStackTraceInFastThrow", "-XX:+UnlockExperimentalVMOptions",
    "-XX:+TrustFinalNonStaticFields", "-XX:+DisableExplicitGC", "-Djdk.nio.maxCachedBufferSize=1024",
    "-Dio.netty.tryReflectionSetAccessible=true", "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED", "--enable-native-access=ALL-UNNAMED",
    "-Dlog4j2.disable.jmx=true", "-Dfile.encoding=UTF-8",
)  # fmt: skip
_SHORT_LIVED: Final = ("-XX:TieredStopAtLevel=1",)
_WATCH: Final = """\
import os, shutil, signal, sys
sys.stdin.read()
try:
    os.killpg(int(sys.argv[1]), signal.SIGKILL)
except ProcessLookupError:
    pass
shutil.rmtree(sys.argv[2], ignore_errors=True)
"""
"""Waits until whoever holds the other end of its input is gone, however it went; then the server goes too."""


class NoServer(Exception):
    """No server can be had here; the argument says what is missing."""


class Server(Protocol):
    """A server that answers; its URI needs no credentials, or carries them."""

    @property
    def uri(self) -> str: ...

    def stop(self) -> None: ...


@dataclass(frozen=True)
class Named:
    """Somebody else's server, which is left alone."""

    uri: str

    def stop(self) -> None:
        """It goes on."""


class Container:
    """A server in a container of `testcontainers`."""

    def __init__(self, version: str) -> None:
        """Raises `NoServer` where there is no Docker engine or no `testcontainers`."""
        try:
            import docker  # type: ignore[import-not-found,import-untyped,unused-ignore]
            from testcontainers.core.container import (  # type: ignore[import-not-found,unused-ignore]
                DockerContainer,
            )

            docker.from_env().ping()
        except ImportError as exc:
            raise NoServer(f"{exc.name} is not installed") from exc
        except Exception as exc:
            raise NoServer(f"no Docker engine answers: {exc}") from exc
        self._container = DockerContainer(f"neo4j:{version}-community").with_exposed_ports(7687)
        for name, value in (("NEO4J_AUTH", "none"), ("NEO4J_db_lock_acquisition_timeout", "5s")):
            self._container.with_env(name, value)
        self._container.start()
        host, port = self._container.get_container_host_ip(), self._container.get_exposed_port(7687)
        self.uri = f"bolt://{host}:{port}"
        await_answer(self.uri)

    def stop(self) -> None:
        self._container.stop()


class Local:
    """A server of our own: a process group of its own, a random port, its data in a temporary folder."""

    def __init__(
        self, version: str, *, heap: str = "1g", settings: Mapping[str, str] | None = None, is_short_lived: bool = False
    ) -> None:
        """Start it and wait until it answers a query; one that is short-lived starts sooner and computes more slowly.

        Raises `NoServer`.
        """
        java, library = java_for(version), jars(version)
        self.home = Path(tempfile.mkdtemp(prefix="vigencia-neo4j-"))
        port = _free_port()
        self.uri = f"bolt://127.0.0.1:{port}"
        for name in ("conf", "data", "logs", "run", "import", "plugins"):
            (self.home / name).mkdir()
        conf = _CONF.format(port=port)
        if not _is_lts(version):
            conf += "db.query.default_language=CYPHER_25\n"
        conf += "".join(f"{name}={value}\n" for name, value in (settings or {}).items())
        (self.home / "conf" / "neo4j.conf").write_text(conf, encoding="utf-8")
        main = "org.neo4j.server." + ("CommunityEntryPoint" if _is_lts(version) else "Neo4jCommunity")
        self._command = [
            str(java), *(flag.format(heap=heap) for flag in _FLAGS), *(_SHORT_LIVED if is_short_lived else ()),
            "-cp", f"{library}/*", main,
            f"--home-dir={self.home}", f"--config-dir={self.home / 'conf'}", "--console-mode",
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start it, again if it was killed, and wait until it answers."""
        with (self.home / "logs" / "console.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._watcher = subprocess.Popen(
            [sys.executable, "-c", _WATCH, str(self._process.pid), str(self.home)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            await_answer(self.uri, self._process)
        except NoServer as exc:
            log_text = (self.home / "logs" / "console.log").read_text(errors="replace")
            self.stop()
            raise NoServer(f"{exc}\n{log_text[-3000:]}") from exc

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server; after `SIGKILL` it is gone, and `start` brings it back."""
        os.killpg(self._process.pid, number)
        if number is signal.SIGKILL:
            self._process.wait()
            self._watcher.kill()
            self._watcher.communicate()

    def stop(self) -> None:
        """Stop it and remove its data: a test server has nothing to shut down in good order."""
        if self._watcher.stdin is not None:
            self._watcher.stdin.close()
        self._process.wait()
        self._watcher.wait()


def find_or_start() -> Server:
    """A server that answers. Raises `NoServer`, with all that was tried."""
    uri = os.environ.get("VIGENCIA_TEST_NEO4J_URI")
    if uri:
        await_answer(uri)
        return Named(uri)
    try:
        return Container(version())
    except NoServer as no_container:
        try:
            return Local(version())
        except NoServer as exc:
            raise NoServer(f"no Neo4j to test with: {no_container}; {exc}") from exc


def version() -> str:
    """The release to test with."""
    return os.environ.get("VIGENCIA_TEST_NEO4J_VERSION") or VERSION


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The URI of a server for the length of a block."""
    found = find_or_start()
    try:
        yield found.uri
    finally:
        found.stop()


def await_answer(uri: str, process: "subprocess.Popen[bytes] | None" = None) -> None:
    """Wait until a server answers a query. Raises `NoServer` after five minutes, or when its process has ended."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        if process is not None and process.poll() is not None:
            raise NoServer(f"the server ended with status {process.returncode} before it answered")
        try:
            with GraphDatabase.driver(
                uri, connection_timeout=2.0, connection_acquisition_timeout=3.0, max_transaction_retry_time=0.0,
                notifications_min_severity=NotificationMinimumSeverity.OFF, telemetry_disabled=True,
            ) as driver, driver.session(database="neo4j") as session:  # fmt: skip
                session.run("RETURN 1").consume()
                return
        except (DriverError, Neo4jError, OSError) as exc:
            if time.monotonic() > deadline:
                raise NoServer(f"no answer from {uri} within {START_SECONDS:g} s: {exc}") from exc
        time.sleep(0.1)


def java_for(version: str) -> Path:
    """The newest Java on this machine that runs a release: 17 or 21 for 5.26, 21 or 25 for calendar releases."""
    wanted = (21, 17) if _is_lts(version) else (25, 21)
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    jvm = Path("/usr/lib/jvm")
    homes += sorted(jvm.iterdir()) if jvm.is_dir() else []
    on_path = shutil.which("java")
    homes += [Path(on_path).resolve().parent.parent] if on_path else []
    found = {major: home / "bin" / "java" for home in reversed(homes) if (major := _java_major(home)) in wanted}
    for major in wanted:
        if major in found:
            return found[major]
    raise NoServer(f"Neo4j {version} needs Java {' or '.join(map(str, wanted))}; looked in {[str(h) for h in homes]}")


def jars(version: str) -> Path:
    """The folder of all jars of a release, fetched by Maven if they are not there yet, by one process at a time."""
    folder = cache() / "neo4j" / version / "lib"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # it ends with the file; Maven's own repository is not made for two at once
        if not (folder / f"neo4j-{version}.jar").is_file():
            _fetch(version, folder)
    return folder


def _fetch(version: str, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoServer("Maven is not installed, so the jars of Neo4j cannot be fetched")
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        (Path(work) / "pom.xml").write_text(_POM.format(v=version), encoding="utf-8")
        done = subprocess.run(
            [maven, "-q", "-B", "-f", f"{work}/pom.xml", "dependency:copy-dependencies", "-DincludeScope=runtime",
             "-DincludeTypes=jar", f"-DoutputDirectory={work}/lib"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise NoServer(f"Maven could not fetch Neo4j {version}: {done.stdout[-1000:]}")
        Path(work, "lib").rename(folder)


def cache() -> Path:
    """Where what was fetched is kept between runs."""
    named = os.environ.get("VIGENCIA_TEST_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vigencia"


def _is_lts(version: str) -> bool:
    return version.startswith("5.")


def _java_major(home: Path) -> int | None:
    release = home / "release"
    if not (release.is_file() and (home / "bin" / "java").exists()):
        return None
    match = re.search(r'^JAVA_VERSION="(\d+)', release.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return int(match[1]) if match else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def main() -> None:
    """Print the URI of a server and hold it."""
    told = argparse.ArgumentParser(
        prog="python -m tests.neo4j_server", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    told.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with server() as uri, contextlib.suppress(KeyboardInterrupt):
        print(uri, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
