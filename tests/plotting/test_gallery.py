"""The pictures of the gallery that compute something of their own."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from printed import numbers

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture(scope="module")
def pairs():
    names = runpy.run_path(str(EXAMPLES / "plot_pair_contributions.py"))
    yield names
    plt.close("all")


def test_shares_and_risks_of_the_paper(pairs):
    """Rudin2009, Table 1."""
    y, scores = pairs["labels"], pairs["scores"]
    lists = {
        "original": y,
        "swap_on_bottom": y[[1, 0, *range(2, 8)]],
        "swap_on_top": y[[*range(5), 6, 5, 7]],
    }
    for row, cells in numbers("Rudin2009", "table_1").items():
        for loss, expected in cells.items():
            name = loss.replace("_", "-")
            shares, risk = pairs["shares_and_risk"](lists[row], scores, 4, name)
            assert round(risk, 2) == expected
            assert shares.sum() == pytest.approx(1)


def test_shares_by_loops(pairs):
    rng = np.random.default_rng(0)
    y, scores = np.arange(15) % 3 == 0, rng.integers(0, 6, 15) / 2
    shares, risk = pairs["shares_and_risk"](y, scores, 2.5, "logistic")
    terms = np.zeros(15)
    for k in np.flatnonzero(~y):
        terms[k] = sum(np.log(1 + np.exp(scores[k] - f)) for f in scores[y]) ** 2.5
    np.testing.assert_allclose(shares, terms / terms.sum())
    assert risk == pytest.approx(terms.sum())
    figure = pairs["draw_shares"](y, scores, (2.5,))
    bars = figure.axes[2].containers[0]
    order = np.argsort(-scores)
    np.testing.assert_allclose([bar.get_width() for bar in bars], shares[order])
    plt.close("all")


@pytest.mark.slow
def test_margins_are_those_of_the_rankers():
    names = runpy.run_path(str(EXAMPLES / "plot_margins.py"))
    axes = plt.subplots()[1]
    for ranker in names["rankers"]:
        names["draw_margins"](axes, ranker, "black")
    curves = [c for r in names["rankers"] for c in (r.margin_curve_, r.smooth_margin_curve_)]
    for line, curve in zip(axes.get_lines(), curves, strict=True):
        np.testing.assert_array_equal(line.get_xydata().T, [np.arange(1, len(curve) + 1), curve])
    smooth, boosted = (ranker.margin_ for ranker in names["rankers"])
    assert names["largest"] == pytest.approx(3 / 8)
    assert boosted < smooth < names["largest"] < smooth + 0.01
    plt.close("all")
