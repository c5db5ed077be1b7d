"""Two servers on one Neo4j: what one has acknowledged, the other shows to whoever asks for its position."""

from collections.abc import Iterator
from contextlib import ExitStack

import httpx2
import pytest

from tests.e2e.command_line import CommandLine
from tests.e2e.test_cli_serving import serving
from tests.sizes import scaled

pytestmark = pytest.mark.neo4j


@pytest.fixture
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx2.Client, httpx2.Client]]:
    line = CommandLine(tmp_path_factory.mktemp("two"))
    line.keep_on_neo4j()
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(line)) for _ in range(2)]
        one, other = (stack.enter_context(httpx2.Client(base_url=each.url, timeout=60)) for each in servers)
        yield one, other


def write(client: httpx2.Client, number: int) -> int:
    """Tell it a value; gives the position of the write."""
    item = {"subject": "ada", "predicate": "counter", "value": number, "valid_from": f"2026-01-01T00:00:{number:02}Z"}
    told = client.post("/v1/claims", json={"items": [{**item, "source": "test"}]})
    assert told.status_code == 200, told.text
    position: int = told.json()["position"]
    return position


def read(client: httpx2.Client, min_position: int, number: int) -> list[object]:
    """What holds of the subject at the time of a value."""
    asked = f"subject=ada&predicate=counter&min_position={min_position}&valid_at=2026-01-01T00:00:{number:02}Z"
    shown = client.get(f"/v1/state?{asked}")
    assert shown.status_code == 200, shown.text
    return [item["value"]["value"] for item in shown.json()["items"]]


def test_a_position_written_on_one_server_can_be_read_on_the_other(
    clients: tuple[httpx2.Client, httpx2.Client],
) -> None:
    one, other = clients
    for number in range(scaled(60, 20)):
        writer, reader = (one, other) if number % 3 else (other, one)
        position = write(writer, number)
        assert read(reader, position, number) == list(range(number + 1))
        assert read(writer, position, number) == list(range(number + 1))


def test_writers_on_both_servers_count_on_from_each_other(clients: tuple[httpx2.Client, httpx2.Client]) -> None:
    positions = [write(clients[number % 2], number) for number in range(10)]
    assert positions == list(range(positions[0], positions[0] + 10))
    assert read(clients[0], positions[-1], 9) == read(clients[1], positions[-1], 9) == list(range(10))
