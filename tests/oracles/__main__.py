"""`python -m tests.oracles --store STORE CASES.jsonl …`: run oracle files, print `ok: …` or each difference."""

import argparse
import sys
from pathlib import Path

from ontology.errors import VigenciaError
from tests.neo4j_server import NoServer
from tests.oracles.cases import read_cases
from tests.oracles.engines import Unsuitable, engine
from tests.oracles.runner import run


def main(arguments: list[str]) -> int:
    """0 where every answer of every file is as expected, 1 where one is not, 2 for what cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracles", description=__doc__)
    parser.add_argument(
        "--store", required=True, help="sqlite:///PATH, sqlite:///:memory:, naive, neo4j, neo4j://HOST:PORT or http"
    )
    parser.add_argument("--reopen", action="store_true", help="close the file and open it again before the questions")
    parser.add_argument("--rebuild", action="store_true", help="ask a store that was rebuilt from the journals")
    parser.add_argument("cases", nargs="+", type=Path, help="files in the format of the reference model")
    given = parser.parse_args(arguments)
    failed = False
    for path in given.cases:
        try:
            with engine(given.store, reopen=given.reopen, rebuild=given.rebuild) as opened:
                outcome = run(opened, read_cases(path), pure=given.store != "http")
        except (Unsuitable, NoServer, VigenciaError, OSError, ValueError) as exc:
            print(exc, file=sys.stderr)
            return 2
        for name in outcome.finer:
            print(f"note: {name} is finer than the grid of the reference, and agrees on it", file=sys.stderr)
        print(outcome)
        failed = failed or bool(outcome.differences)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
