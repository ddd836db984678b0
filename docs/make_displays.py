"""Draw docs/display_*.png: an example of each display of sklearn_rank.plotting.

The data are generated, or ship with scikit-learn.

    python docs/make_displays.py
"""

from io import BytesIO
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from make_p_picture import make_rows
from PIL import Image
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sklearn_rank import PNormPushRanker, RankBoost, SmoothMarginRanker
from sklearn_rank.plotting import (
    MarginDisplay,
    PairContributionDisplay,
    RankedListDisplay,
    ShapeFunctionDisplay,
    TopROCDisplay,
)

HERE = Path(__file__).parent
THEOREM_6 = np.array(
    [
        [-1, 1, 1, 1, 1, -1, -1, 1],
        [-1, 1, 1, -1, -1, 1, 1, 1],
        [1, -1, 1, 1, 1, -1, 1, 1],
        [1, -1, 1, 1, -1, 1, 1, 1],
        [1, -1, 1, -1, 1, 1, 1, -1],
        [1, 1, -1, 1, 1, 1, 1, -1],
        [1, 1, -1, 1, 1, 1, -1, 1],
        [1, 1, 1, 1, -1, -1, 1, -1],
        [0, 0, 0, 0, 0, 0, 0, 0],
    ]
)
ON_TOP = np.array([1] * 8 + [0])


def save(figure: plt.Figure, name: str) -> None:
    """Write a picture with 256 colours: a third of the bytes, and nothing to see of it."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=100)
    plt.close(figure)
    picture = Image.open(drawn).convert("RGB").quantize(256)
    picture.save(HERE / f"display_{name}.png", optimize=True)


def draw_top_roc() -> None:
    """The p-norm push at several p on the data of make_p_picture.py: the top, then every decade."""
    X, y = make_rows(5_000, seed=0)
    X_new, y_new = make_rows(40_000, seed=1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.2), layout="constrained")
    for p in (1, 4, 16):
        ranker = PNormPushRanker(p=p, weak_ranker="feature").fit(X, y)
        chance = {"plot_chance_level": p == 16}
        display = TopROCDisplay.from_estimator(
            ranker, X_new, y_new, name=f"p = {p}", max_fpr=0.05, ax=left, **chance
        )
        display.plot(right, max_fpr=1.0, xscale="log", **chance)
    save(figure, "top_roc")


def draw_ranked_list() -> None:
    """A list of the patients that a ranker has not seen; malignant ones belong at the top."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X[:, :4], y == 0, test_size=0.4, random_state=0)
    ranker = RankBoost(n_estimators=20).fit(X, y)
    display = RankedListDisplay.from_estimator(ranker, X_new, y_new)
    save(display.figure_, "ranked_list")


def draw_margin() -> None:
    """RudinSchapire2009, Theorem 6: on these rows RankBoost stays at a margin of 1/3."""
    axes = None
    for kind in (SmoothMarginRanker, RankBoost):
        ranker = kind(n_estimators=3_000, weak_ranker="feature", tol=0).fit(THEOREM_6, ON_TOP)
        axes = MarginDisplay.from_estimator(ranker, ax=axes, xscale="log").ax_
    save(axes.figure, "margin")


def draw_shape_functions() -> None:
    """Six features of a model of breast cancers; in some rows values are missing."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data.copy(), data.target == 0
    rng = np.random.default_rng(0)
    X.loc[rng.random(len(X)) < np.where(y, 0.3, 0.1), ["mean texture", "worst texture"]] = np.nan
    ranker = RankBoost(n_estimators=100).fit(X, y)
    display = ShapeFunctionDisplay.from_estimator(ranker, X)
    save(display.figure_, "shape_function")


def draw_pair_contributions() -> None:
    """The list of Rudin2009, whose figures hold with the scores halved."""
    labels = [-1, 1, -1, 1, -1, -1, 1, 1]
    display = PairContributionDisplay.from_predictions(
        labels, np.arange(1, 9) / 2, p=(1, 2, 4), losses=("zero_one", "exponential", "logistic")
    )
    save(display.figure_, "pair_contribution")


if __name__ == "__main__":
    draw_top_roc()
    draw_ranked_list()
    draw_margin()
    draw_shape_functions()
    draw_pair_contributions()
