"""`python -m benchmarks retrieval`: how well evidence is found for questions, beside a plain BM25 in the same run."""

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from api.settings import read_settings
from api.wiring import services
from benchmarks.retrieval.cases import Case, read_folder
from benchmarks.retrieval.measures import CUTS, LEVEL, mean, measured
from benchmarks.retrieval.rankers import bm25, ours
from benchmarks.timing import tell

OWN: Final = Path(__file__).parent / "own"
"""A small set of our own: invented people, places and texts in each of the shapes."""
WITHIN: Final = 0.02
ALL: Final = "all"
Scores = dict[tuple[str, str], list[dict[str, float]]]
"""Of each category and ranker, the measures of each question."""


def main(given: Sequence[str]) -> None:
    """Print a table on stdout, and say on stderr how it goes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks retrieval", description=__doc__)
    parser.add_argument(
        "--data", type=Path, metavar="DIR", default=OWN, help="the files; a small set of our own if left out"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every figure to a file")
    wanted = parser.parse_args(given)
    cases = read_folder(wanted.data)
    scores, searched_by = scored(cases)
    figures = summary(scores)
    print("\n".join(report(figures, cases, searched_by)))
    if wanted.json is not None:
        wanted.json.write_text(json.dumps(figures, indent=2) + "\n")


def scored(cases: Sequence[Case]) -> tuple[Scores, str]:
    """The measures of every question, and what made the vectors."""
    scores: Scores = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="vigencia-retrieval-") as folder:
        settings = read_settings(store=f"sqlite:///{Path(folder) / 'retrieval.db'}")
        with services(settings) as opened:
            name = "" if opened.embedder is None else opened.embedder.name
            for case in cases:
                tell(f"{case.name}: {len(case.turns)} turns, {len(case.asked)} questions, {case.skipped} left out")
                rankers = {"bm25": bm25(case), **ours(opened, case)}
                for asked in case.asked:
                    for ranker, rank in rankers.items():
                        found = measured(rank(asked.question), asked.evidence)
                        scores[asked.category, ranker].append(found)
                        scores[ALL, ranker].append(found)
    return scores, name


def summary(scores: Scores) -> list[dict[str, Any]]:
    """A figure for each category, ranker and measure; the whole comes last."""
    figures: list[dict[str, Any]] = []
    for (category, ranker), found in sorted(scores.items(), key=lambda pair: (pair[0][0] == ALL, pair[0][0])):
        for measure in found[0]:
            over = mean([each[measure] for each in found])
            figures.append(
                {
                    "category": category, "ranker": ranker, "measure": measure, "questions": len(found),
                    "value": round(over.value, 4), "low": round(over.low, 4), "high": round(over.high, 4),
                }
            )  # fmt: skip
    return figures


def report(figures: Sequence[dict[str, Any]], cases: Sequence[Case], searched_by: str) -> list[str]:
    """The figures as lines to read."""
    measures = [*(f"Hit@{cut}" for cut in CUTS), *(f"Recall@{cut}" for cut in CUTS), "MRR"]
    by = {(each["category"], each["ranker"], each["measure"]): each for each in figures}
    rows = list(dict.fromkeys((each["category"], each["ranker"], each["questions"]) for each in figures))
    width = max(len(category) for category, _, _ in rows)
    skipped = sum(case.skipped for case in cases)
    lines = [
        f"{sum(len(case.turns) for case in cases)} turns, {sum(len(case.asked) for case in cases)} questions; "
        f"{skipped} without evidence left out; in brackets {LEVEL} % by bootstrap over questions",
        f"vectors by {searched_by}" if searched_by else "no embedder is set, so words alone are searched",
        f"{'':{width}}  {'n':>4}  {'':6}  " + "  ".join(f"{measure:^18}" for measure in measures),
    ]
    for category, ranker, questions in rows:
        cells = [by[category, ranker, measure] for measure in measures]
        shown = "  ".join(f"{each['value']:.3f} [{each['low']:.2f}, {each['high']:.2f}]" for each in cells)
        lines.append(f"{category:{width}}  {questions:>4}  {ranker:6}  {shown}")
    best = "hybrid" if searched_by else "text"
    behind = sorted(
        category for category in dict.fromkeys(category for category, _, _ in rows)
        if by[category, best, "Recall@10"]["value"] < by[category, "bm25", "Recall@10"]["value"] - WITHIN
    )  # fmt: skip
    aim = f"aim: Recall@10 of {best} above bm25 in each category, or within {WITHIN:g}"
    return [*lines, f"{aim}: " + (f"not in {', '.join(behind)}" if behind else "holds")]
