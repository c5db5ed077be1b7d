"""`python -m benchmarks`: how fast it is, as ratios against the bare engine in the same run."""

import argparse
import sys
from pathlib import Path

from benchmarks.figures import table, write_json
from benchmarks.sizes import FULL, QUICK
from benchmarks.suite import CHOICES, run
from benchmarks.timing import tell


def main() -> None:
    """Measure, print a table on stdout, and say on stderr how it goes. `retrieval` has a command line of its own."""
    if sys.argv[1:2] == ["retrieval"]:
        from benchmarks.retrieval.run import main as retrieval

        retrieval(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every figure to a file")
    parser.add_argument("--quick", action="store_true", help="smaller stores and fewer runs, in about a minute")
    parser.add_argument("--only", choices=CHOICES, help="measure one part alone, or those of one engine")
    given = parser.parse_args()
    figures = []
    for figure in run(QUICK if given.quick else FULL, given.only):
        figures.append(figure)
        tell(f"  {figure.name}: {figure.value:,.2f} {figure.unit}")
    print(table(figures))
    if given.json is not None:
        write_json(given.json, figures)


if __name__ == "__main__":
    main()
