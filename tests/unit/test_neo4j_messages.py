"""Does what the driver raises come out in words that name the server and the remedy, on one line?"""

import ssl
import subprocess
import sys

import pytest
from neo4j.exceptions import AuthError, ClientError, ConnectionAcquisitionTimeoutError, Neo4jError, ServiceUnavailable

from graph.neo4j_store.database import Peer, translated
from ontology.errors import Unavailable, VigenciaError


def told(exc: Exception, *, address: str = "bolt://db:7687", user: str | None = "ada") -> VigenciaError:
    return translated(exc, Peer(address=address, user=user, database="memory"))


def of_server(code: str, message: str) -> Neo4jError:
    exc = Neo4jError._hydrate_neo4j(code=code, message=message)
    assert exc.code == code
    return exc


def caused(exc: Exception, *causes: BaseException) -> Exception:
    """`exc` as it is raised from the others."""
    before: BaseException = exc
    for cause in causes:
        before.__cause__ = cause
        before = cause
    return exc


def test_a_wrong_password_names_server_and_user() -> None:
    found = told(of_server("Neo.ClientError.Security.Unauthorized", "The client is unauthorized."))
    assert found.message == "the server at bolt://db:7687 does not let the user 'ada' in: The client is unauthorized."
    assert ("NEO4J_PASSWORD" in found.remedy, found.retry_after) == (True, None)


@pytest.mark.parametrize(
    "exc",
    [
        AuthError("Unsupported authentication token, missing key `scheme`"),
        of_server("Neo.ClientError.Security.Unauthorized", "no"),
    ],
)
def test_no_password_is_told_as_that(exc: Exception) -> None:
    found = told(exc, user=None)
    assert found.remedy.startswith("NEO4J_PASSWORD is not set")
    assert ("bolt://db:7687" in found.message, found.retry_after) == (True, None)


def test_a_database_that_is_not_there_is_not_waited_for() -> None:
    found = told(of_server("Neo.ClientError.Database.DatabaseNotFound", "Graph not found: memory"))
    assert isinstance(found, Unavailable)
    assert found.message == "the server at bolt://db:7687 has no database 'memory'"
    assert ("NEO4J_DATABASE" in found.remedy, found.retry_after) == (True, None)


def test_a_server_without_tls_is_told_as_that() -> None:
    exc = ServiceUnavailable("Unable to retrieve routing information")
    group = ExceptionGroup("all", [caused(ServiceUnavailable("x"), ssl.SSLEOFError(8, "EOF occurred"))])
    found = told(caused(exc, group), address="neo4j+s://db:7687")
    assert found.message == "no TLS connection with the server at neo4j+s://db:7687: EOF occurred"
    assert "without +s" in found.remedy


def test_what_is_refused_is_told_in_the_words_of_the_system() -> None:
    exc = caused(ServiceUnavailable("Couldn't connect to\nResolvedIPv4Address"), ConnectionRefusedError(111, "refused"))
    assert told(exc).message == "the store cannot be reached: the server at bolt://db:7687: refused"


def test_a_pool_that_has_nothing_left_names_the_server() -> None:
    found = told(ConnectionAcquisitionTimeoutError("failed to obtain a connection\nfrom the pool within 5.0s"))
    assert "server at bolt://db:7687: failed to obtain a connection from the pool within 5.0s" in found.message


def test_what_the_server_says_is_one_line() -> None:
    exc = of_server("Neo.ClientError.Statement.SyntaxError", "first\n  second" + " word" * 200)
    assert isinstance(exc, ClientError)
    assert "first second word" in told(exc).message
    assert len(told(exc).message) < 400


def test_the_driver_does_not_write_to_stderr_by_itself() -> None:
    """A logger that has no handler at all writes warnings there."""
    code = "import logging, graph.neo4j_store.database; logging.getLogger('neo4j.io').error('[#8FCE] error')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
