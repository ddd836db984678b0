"""Figures 1 and 3 to 8 of Rudin (2009): of formulas, and ROC curves of one run.

Figure 2 is pseudocode.
"""

import numpy as np
from _claims import legend_below, new_figure, save_figure
from _paper_protocol import NUMBERS, POWERS, SETTINGS, TEXT, fit_scores, parts
from sklearn.metrics import roc_curve

STYLES = tuple(
    {"color": color, "linestyle": dash}
    for color, dash in zip(
        ("#56b4e9", "#0072b2", "#08306b", "#e69f00", "#d55e00", "#7f2704", "black"),
        ("-", "--", "-.", "-", "--", "-.", ":"),
        strict=True,
    )
)
"""Of p = 1 to 64, blue before red and light before dark, and of the IR push."""

A, P = 0.4, 4
"""Of Figure 8."""


def pair_losses():
    """Return the loss of each pair of sec. 3.3: positives by negatives, from the top."""
    labels = np.array(NUMBERS["labels_20"]["value"], dtype=int)
    scores = np.arange(len(labels), 0, -1) / len(labels)
    return np.exp(scores[labels < 0] - scores[labels > 0][:, np.newaxis])


def push_contributions(p):
    """Return how much each pair contributes to R_{p,exp}."""
    losses = pair_losses()
    return losses.sum(axis=0) ** (p - 1) * losses


def ir_contributions():
    """Return how much each pair contributes to the IR push."""
    losses = pair_losses()
    sums = losses.sum(axis=1, keepdims=True)
    return np.log1p(sums) * losses / sums


def show_pairs(axes, contributions, title):
    """Draw pairs as squares, the first positive at the bottom, the first negative on the left."""
    axes.imshow(contributions, cmap="gray", origin="lower", vmin=0)
    axes.grid(visible=False)
    axes.set(title=title, xlabel="negative", ylabel="positive", xticks=[], yticks=[])


def draw_contributions(folder):
    """Draw Figures 1 and 4."""
    figure, panels = new_figure(3, 5.2, n_rows=-(-(len(POWERS) + 1) // 3))
    shares = {f"p = {p}": push_contributions(p) for p in POWERS} | {"IR": ir_contributions()}
    for axes, (title, pairs) in zip(panels.flat, shares.items(), strict=False):
        show_pairs(axes, pairs, title)
    for axes in panels.flat[len(shares) :]:
        axes.set_axis_off()
    save_figure(figure, folder / "figures_1_and_4.png")


def draw_formulas(folder):
    """Draw Figures 3 and 8."""
    figure, [[discounts], [powers]] = new_figure(1, 7.0, n_rows=2)
    z = np.linspace(0.3, 10, 400)
    discounts.plot(z, 1 / np.log1p(z), label=r"$1 / \ln(1 + z)$")
    discounts.plot(z, 1 / z, label="$1 / z$")
    discounts.plot(z, -np.log1p(z), label=r"$-\ln(1 + z)$")
    discounts.set(title="Discounts", xlabel="z")
    b = np.linspace(0, 1, 401)
    far, near = np.abs(A - b) ** (1 / P), np.abs(A - b) * A ** (1 / P - 1)
    powers.plot(b, far, label="$|a - b|^{1/p}$")
    powers.plot(b, np.minimum(near, far), label="the smaller bound")
    powers.plot(b, np.abs(A ** (1 / P) - b ** (1 / P)), label="$|a^{1/p} - b^{1/p}|$")
    powers.set(title=f"Lemma 7, p = {P}, a = {A}", xlabel="b")
    for axes in (discounts, powers):  # below, where no line is
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), fontsize="small", ncols=3)
    save_figure(figure, folder / "figures_3_and_8.png")


def draw_curves(experiment, X, y, seed, folder):
    """Draw ROC curves of one run, in counts: training rows above, test rows below."""
    train, test = parts(experiment, TEXT, y, seed)[0]
    figure, panels = new_figure(2, 5.4, n_rows=2)
    for setting, style in zip(SETTINGS, STYLES, strict=True):
        scores = fit_scores(setting, TEXT, X, y, train)
        for (whole, left), rows in zip(panels, (train, test), strict=True):
            counts = curve(y[rows], scores[rows])
            for axes in (whole, left):
                axes.plot(*counts, label=setting, linewidth=1.5, **style)
    for (whole, left), rows, name in zip(panels, (train, test), ("training", "test"), strict=True):
        whole.set(title=f"{name} rows", xlabel="false positives", ylabel="true positives")
        end = max(experiment.left_end * (y[rows] == 0).sum(), 1)
        top = max(one.get_ydata()[one.get_xdata() <= end].max() for one in left.get_lines())
        left.set(title="left end", xlabel="false positives", xlim=(0, end), ylim=(0, 1.02 * top))
    figure.suptitle(f"Figure {experiment.figure}: {experiment.data}", fontsize="medium")
    legend_below(figure, panels[0, 0], 3)
    save_figure(figure, folder / f"figure_{experiment.figure}_{experiment.data}.png")


def curve(y, scores):
    """Return counts of false and of true positives."""
    false, true, _ = roc_curve(y, scores, drop_intermediate=False)
    return false * (y == 0).sum(), true * (y == 1).sum()
