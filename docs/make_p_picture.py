"""Draw docs/what_p_does.png: what p of PNormPushRanker does to the top of a ranked list.

The data are generated. Positives must be ranked above two kinds of negatives. Most negatives are
ordinary: feature A tells them from positives, feature B slightly misleads. A few are lookalikes:
feature A takes them for positives, only feature B gives them away. A model with one weight per
feature cannot please both kinds. With p=1 every pair counts alike and the many ordinary negatives
decide; a larger p looks at the negatives that are ranked too high, and those are the lookalikes.

    python docs/make_p_picture.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from sklearn_rank import PNormPushRanker

# The larger p, the darker, so that the order survives grey; the dashes tell them apart as well.
STYLES = {
    1: {"color": "#e69f00", "linestyle": "-"},
    2: {"color": "#009e73", "linestyle": (0, (6, 1.5))},
    4: {"color": "#0072b2", "linestyle": (0, (3, 1, 1, 1))},
    16: {"color": "#000000", "linestyle": (0, (1, 1))},
}
ZOOM = 0.05
INK = "#333333"


def make_rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features A and B and labels: a fifth positive, one negative in twenty a lookalike."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_rows) < 0.2
    lookalike = ~y & (rng.random(n_rows) < 0.05)
    ordinary = ~y & ~lookalike
    X = rng.standard_normal((n_rows, 2))
    X[ordinary] += [-2.0, 1.5]
    X[lookalike] = 0.5 * X[lookalike] + [0.5, -3.0]
    return X, y


def draw(path: Path) -> None:
    """Fit on 5,000 rows for each p, draw the ROC curve of 100,000 others, print its figures."""
    X, y = make_rows(5_000, seed=0)
    X_new, y_new = make_rows(100_000, seed=1)

    figure, (left, whole) = plt.subplots(
        1, 2, figsize=(9.0, 4.2), width_ratios=[1.5, 1.0], layout="constrained"
    )
    print("   p    AUC   share of positives above the first 1 % and 5 % of negatives")
    for p, style in STYLES.items():
        ranker = PNormPushRanker(p=p, weak_ranker="feature").fit(X, y)
        scores = ranker.decision_function(X_new)
        false_share, true_share, _ = roc_curve(y_new, scores, drop_intermediate=False)
        auc = roc_auc_score(y_new, scores)
        found = np.interp([0.01, 0.05], false_share, true_share)
        print(f"{p:4} {auc:6.3f}   {found[0]:.3f} {found[1]:.3f}")
        label = f"p = {p:<3} (AUC {auc:.3f})"
        for axes in (left, whole):
            axes.plot(false_share, true_share, label=label, linewidth=2.2, **style)

    left.set(
        title="The top of the list",
        xlim=(0, ZOOM),
        ylim=(0, 0.5),
        xlabel="share of negatives above the cut",
        ylabel="share of positives above the cut",
    )
    left.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
    whole.set(title="The whole list", xlim=(0, 1), ylim=(0, 1.01), xlabel=left.get_xlabel())
    whole.axvspan(0, ZOOM, color="0.88", zorder=0)
    whole.annotate(
        "shown on the left",
        (ZOOM, 0.06),
        (0.14, 0.06),
        color=INK,
        va="center",
        arrowprops={"arrowstyle": "->", "color": INK},
    )
    whole.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
    for axes in (left, whole):
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
    left.legend(frameon=False, loc="upper left", handlelength=3.5)
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(Path(__file__).with_name("what_p_does.png"))
