"""Our symmetric trees against CatBoost's: whole fits to a million rows and to a tenth.

    python benchmarks/bench_symmetric.py                  # in an environment with CatBoost

300 trees of depth 6, in turns in one process, except for LightGBM's, which have 31 leaves and the
objective of the symmetric trees. CatBoost otherwise has its defaults, including its learning rate.
"""

from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from typing import Any

from _data import draw_interactions
from _parts import TENTH, Lines, Medians, Part, exponent, ratio, run_parts, with_tenth
from _report import Verdict
from _systems import System, build
from bench_boosting import TEST_ROWS, fit_in_turns, in_one_list

TREES, DEPTH, FEATURES = 300, 6, 20
SYMMETRIC, LIGHTGBM, CATBOOST = "symmetric trees", "ours, LightGBM's trees", "CatBoost"

OURS = partial(build, "sklearn_rank", "BoostedTreesRanker", "n_jobs", loss="exponential")
SETTINGS: dict[str, Any] = {"verbose": 0, "allow_writing_files": False, "depth": DEPTH}
SYSTEMS = {
    SYMMETRIC: System(OURS(engine="symmetric", max_depth=DEPTH, random_state=0)),
    LIGHTGBM: System(OURS(engine="lightgbm", random_state=0)),
    CATBOOST: System(build("catboost", "CatBoostClassifier", "thread_count", **SETTINGS)),
}


def run(options: Namespace) -> Lines:
    """Time fits to a tenth of the rows and to all of them."""
    test = in_one_list(*draw_interactions(TEST_ROWS, n_features=FEATURES, seed=0))

    def fit_to(n_rows: int) -> Lines:
        train = in_one_list(*draw_interactions(n_rows, n_features=FEATURES, seed=1))
        return fit_in_turns(SYSTEMS, train, test, options.repeats, options.threads, TREES)

    return with_tenth(fit_to, options.rows)


def judge(found: Medians) -> Iterator[Verdict]:
    """Yield the targets, stated for a million rows."""
    yield ratio(found, SYMMETRIC, CATBOOST, 4)
    yield ratio(found, SYMMETRIC + TENTH, CATBOOST + TENTH, 3)
    yield exponent(found, SYMMETRIC, 1.05)


PARTS = {"fits": Part(f"{TREES} trees of depth {DEPTH}, {FEATURES} features", run, CATBOOST, judge)}

if __name__ == "__main__":
    packages = ("lightgbm", "catboost")
    run_parts(__file__, __doc__, PARTS, rows=1_000_000, repeats=3, packages=packages)
