"""A report on a scorecard: validation and monitoring on one page."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from sklearn_rank.plotting._drawing import import_matplotlib
from sklearn_rank.scorecard._report_figures import figures_of
from sklearn_rank.scorecard._report_pictures import picture_style
from sklearn_rank.scorecard._report_sections import (
    calibration_section,
    gains_section,
    groups_section,
    head_section,
    order_section,
    stability_section,
)
from sklearn_rank.scorecard._report_text import STYLE, text_of
from sklearn_rank.scorecard.card import class_label


def report(
    scorecard: Any,
    X: Any,
    y: Any,
    *,
    reference: Any = None,
    groups: Any = None,
    cut: float | None = None,
    selected: str = "above",
    sample_weight: Any = None,
    title: str = "Scorecard report",
) -> str:
    """Return a report on a scorecard as one self-contained HTML page with figures.

    For validation pass rows that the card was not fitted to, for monitoring rows of a recent
    period. The report shows the quality of the ranking (AUC, Gini coefficient, Kolmogorov-Smirnov
    distance), gains by band of the total, calibration, stability of the total and of each variable,
    and metrics by group.

    Parameters
    ----------
    scorecard : Scorecard
        A fitted scorecard.
    X : {array-like, data frame} of shape (n_samples, n_features)
        The rows to report on.
    y : array-like of shape (n_samples,)
        Classes of the rows. High totals should mean ``classes_[1]``, the event.
    reference : {array-like, data frame} of shape (n_reference, n_features), default=None
        Rows to compare the distributions with, such as the training rows. None: the variables are
        compared with the counts of training rows that the card stores; the totals are not compared.
    groups : array-like of shape (n_samples,), dict of them or data frame, default=None
        Groups of people to compare, or several attributes by their names.
    cut : float, default=None
        The total above which rows count as "above the cut", also for `groups`. None: the cut-off of
        the card, above which a row is predicted as ``classes_[1]``. With rare events nearly all
        rows are below it: pass the cut-off that you use for decisions.
    selected : {"above", "below"}, default="above"
        On which side of the cut the favourable decision is, for `groups`: "below" where high totals
        mean a risk that is refused.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities. With weights other than 0 and 1 there are no intervals of AUC and
        Kolmogorov-Smirnov distance.
    title : str, default="Scorecard report"
        The heading.

    Returns
    -------
    str
        The page. It needs no other file, and all names and classes are escaped.

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        When the rows are of one class, or don't fit the card.

    See Also
    --------
    sklearn_rank.scorecard.monitoring.gains_table : The figures of bands.
    sklearn_rank.scorecard.monitoring.calibration_table : Those of calibration.
    sklearn_rank.scorecard.monitoring.stability_table : Those of stability.
    sklearn_rank.scorecard.monitoring.group_report : Those of groups.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import PNormPushRanker
    >>> from sklearn_rank.scorecard import Scorecard, report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> card = Scorecard(PNormPushRanker(n_estimators=5), p=None).fit(X[::2], y[::2])
    >>> page = report(card, X[1::2], y[1::2], reference=X[::2])
    >>> page[:15], "Kolmogorov-Smirnov" in page
    ('<!DOCTYPE html>', True)
    """
    import_matplotlib("report")
    check_is_fitted(scorecard)
    figures = figures_of(
        *(scorecard, X, y),
        reference=reference,
        groups=groups,
        cut=cut,
        selected=selected,
        sample_weight=sample_weight,
    )
    card = scorecard.card_
    names = (class_label(card.classes[0]), class_label(card.classes[1]))
    with picture_style():
        parts = [
            *head_section(figures, card, title),
            *order_section(figures, names),
            *gains_section(figures, names[1]),
            *calibration_section(figures),
            *stability_section(figures, reference is not None),
            *groups_section(figures, selected, names),
        ]
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text_of(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f'<body style="margin: 0">\n<article class="sklearn-rank-report">\n{body}\n</article>\n'
        "</body>\n</html>\n"
    )
