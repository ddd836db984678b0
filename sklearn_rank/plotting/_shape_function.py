"""The contribution of each feature to the score of a stump ranker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Self

import numpy as np

from sklearn_rank._bins.categories import CategoryCodes
from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import Number
from sklearn_rank.models import FeatureBins, StepFunction
from sklearn_rank.plotting import drawing
from sklearn_rank.plotting._predictions import ranker_and_rows


@dataclass(kw_only=True, eq=False, repr=False)
class ShapeFunctionDisplay:
    r"""Plot the additive score of a stump ranker, one step function for each feature.

    .. math:: f(x) = b + \sum_j s_j(x_j), \qquad
        s_j(v) = \sum_{t:\, j_t = j} \alpha_t 1[v > \theta_t]

    where :math:`j_t`, :math:`\theta_t` and :math:`\alpha_t` are feature, threshold and
    coefficient of round t and b is `offset_` in binary mode, else 0. Markers at the right show
    missing values and special codes; categories are in the order of their values. This is the
    complete model.

    Parameters
    ----------
    features : ndarray of shape (n_shown,)
        Columns, most important first.
    names : sequence of str
        Their names.
    importances : ndarray of shape (n_shown,)
        Their shares of the decrease of the objective.
    functions : list of StepFunction
        The step function of each.
    has_missing : ndarray of shape (n_shown,)
        Whether training rows or X have missing values.
    ranges : ndarray of shape (n_shown, 2)
        Minimum and maximum feature value to draw.
    intercept : float, default=0.0
        b.
    codes : CategoryCodes or None, default=None
        The codes of the categories, if the model has categorical features.

    Attributes
    ----------
    thresholds : list of ndarray of shape (n_thresholds,)
        Thresholds at which each function jumps, increasing; none for categorical features.
    values : list of ndarray of shape (n_values,)
        Values of each function up to the first threshold, between thresholds, and above the last;
        or of each group of categories.
    missing : ndarray of shape (n_shown,)
        Value of each function for a missing value.
    steps_ : list of matplotlib StepPatch
        The functions.
    marks_ : list of list of matplotlib Line2D
        Markers of missing values and special codes, with these as their labels.
    axes_ : ndarray of matplotlib Axes
        One for each feature.
    ax_, figure_ : matplotlib Axes and Figure
        The first of them, and their figure.

    References
    ----------
    Freund2003, Figure 1 (the sum over the rounds); the sum over features is derived here.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import RankBoost
    >>> from sklearn_rank.plotting import ShapeFunctionDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranker = RankBoost(n_estimators=20).fit(X, y)
    >>> display = ShapeFunctionDisplay.from_estimator(ranker, X, max_features=3)
    >>> len(display.names)
    3
    """

    features: Indices
    names: Sequence[str]
    importances: Floats
    functions: list[StepFunction]
    has_missing: Values
    ranges: Floats
    intercept: float = 0.0
    codes: CategoryCodes | None = None

    def __post_init__(self) -> None:
        self.thresholds = [function.bins.thresholds for function in self.functions]
        self.values = [function.values[: function.bins.n_values] for function in self.functions]
        self.missing = np.array([function.values[-1] for function in self.functions])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        qid: Any = None,
        features: str | Sequence[int | str] | None = None,
        max_features: int | None = 6,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted ranker with ``weak_ranker="stump"``.

        Parameters
        ----------
        estimator : object
            The ranker, or a pipeline or search that ends in one. The display shows the features
            that the ranker gets, with their names by the transformers.
        X : array-like of shape (n_samples, n_features), default=None
            Rows that set the range of each feature; the input of a pipeline. None: the thresholds
            with a margin.
        qid : array-like of shape (n_samples,), default=None
            Query of each row of X, for the steps of a pipeline that request it (metadata routing).
        features : str or sequence of int or str, default=None
            Columns or their names. None: those used by the model.
        max_features : int in [1, inf) or None, default=6
            Maximum number of features, most important first. None: all.
        ax : array of matplotlib Axes, default=None
            One for each feature. None: a new figure.
        **options : Any
            For `plot`.

        Returns
        -------
        self : ShapeFunctionDisplay
            Drawn.

        Raises
        ------
        ValueError
            If the model is not a sum of stumps, a feature is unknown, or a number is invalid.
        """
        drawing.import_matplotlib(cls.__name__)
        estimator, X, names = ranker_and_rows(estimator, X, qid)
        rules: Any = getattr(estimator, "weak_rankers_", None)
        if not hasattr(rules, "step_functions"):
            raise ValueError(
                f"{cls.__name__} needs a boosting ranker fitted with weak_ranker='stump', which "
                f"is a sum of step functions. Got {type(estimator).__name__}."
            )
        if names is None:
            names = np.array([f"x{j}" for j in range(estimator.n_features_in_)])
        chosen = _choose_features(cls.__name__, estimator, list(names), features, max_features)
        # A requested feature that the model does not use has a function of zero.
        by_feature = {function.feature: function for function in estimator.step_functions_}
        zeros = [StepFunction(j, FeatureBins(), np.zeros(2)) for j in chosen.tolist()]
        functions = [by_feature.get(zero.feature, zero) for zero in zeros]
        has_missing = np.array([f.values[-1] != 0 and not f.is_neutral for f in functions])
        columns = None
        if X is not None:
            columns = estimator.check_rows(X)[:, chosen].T
            has_missing |= np.isnan(columns).any(axis=1)
        display = cls(
            features=chosen,
            names=[str(names[j]) for j in chosen],
            importances=estimator.feature_importances_[chosen],
            functions=functions,
            has_missing=has_missing,
            ranges=_drawn_ranges(functions, columns),
            intercept=float(getattr(estimator, "offset_", 0.0)),
            codes=getattr(estimator, "category_codes_", None),
        )
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, *, n_columns: int = 3, **step_options: Any) -> Self:
        """Draw a panel for each feature, all with the same scale of the score.

        Parameters
        ----------
        ax : array of matplotlib Axes, default=None
            One for each feature. None: a new figure.
        n_columns : int in [1, inf), default=3
            Number of panels side by side.
        **step_options : Any
            For matplotlib's ``stairs``.

        Returns
        -------
        self : ShapeFunctionDisplay
            With `axes_`, `ax_`, `figure_`, `steps_` and `marks_` set.
        """
        owner, n_shown = type(self).__name__, len(self.features)
        drawing.check_count(owner, n_columns=n_columns)
        self.axes_ = drawing.panels(owner, ax, n_shown, n_columns=n_columns, size=(3.0, 2.5))
        self.steps_: list[Any] = []
        self.marks_: list[list[Any]] = []
        for j, panel in enumerate(self.axes_):
            self._draw_feature(panel, j, step_options)
        for panel in self.axes_[::n_columns]:
            panel.set_ylabel("added to the score")
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        return self

    def _draw_feature(self, panel: Any, j: int, step_options: dict[str, Any]) -> None:
        """Draw the j-th of the shown features."""
        style = {"baseline": None, "color": drawing.COLOURS[0], "linewidth": 2.0, **step_options}
        panel.axhline(0.0, color="0.6", linewidth=1.0, zorder=1)
        if self.functions[j].bins.categories is None:
            values, edges = self._visible_steps(j)
            low, high = self.ranges[j]
        else:
            values, edges = self._draw_categories(panel, j)
            low, high = edges[0], edges[-1]
        self.steps_.append(panel.stairs(values, edges, **style))
        end = self._draw_marks(panel, j, high, high - low)
        panel.set_xlim(low - 0.03 * (high - low), end)
        panel.set_xlabel(self.names[j], parse_math=False)
        title = f"importance {100 * self.importances[j]:.0f} %"
        panel.set_title(title, fontsize="small", loc="left")
        drawing.use_light_frame(panel)

    def _visible_steps(self, j: int) -> tuple[Floats, Floats]:
        """Return the values in the range to draw, and the edges of the steps."""
        low, high = self.ranges[j]
        thresholds = self.thresholds[j]
        is_inside = (thresholds > low) & (thresholds < high)
        first_bin = int(np.searchsorted(thresholds, low, "right"))
        edges = np.concatenate([[low], thresholds[is_inside], [high]])
        return self.values[j][first_bin : first_bin + len(edges) - 1], edges

    def _draw_categories(self, panel: Any, j: int) -> tuple[Floats, Floats]:
        """Label the groups of categories by increasing value; return their values and edges."""
        values = self.values[j]
        order = np.argsort(values, kind="stable")
        groups = self.functions[j].bins.categories
        assert self.codes is not None and groups is not None
        names = self.codes.categories[self.functions[j].feature]
        members: list[list[str]] = [[] for _ in values]
        for name, group in zip(names, groups, strict=False):
            members[group].append(str(name))
        labels = [drawing.shortened(", ".join(members[group])) for group in order]
        style: dict[str, Any] = {"rotation": 30, "ha": "right", "fontsize": "small"}
        panel.set_xticks(np.arange(len(order)), labels, parse_math=False, **style)
        return values[order], np.arange(len(order) + 1) - 0.5

    def _draw_marks(self, panel: Any, j: int, high: float, width: float) -> float:
        """Mark missing values and special codes to the right of the steps; return the right end.

        The steps end at `high` and have the given width.
        """
        bins, values = self.functions[j].bins, self.functions[j].values
        labels = [f"{code:g}" for code in bins.special]
        heights = [*values[bins.n_values : bins.n_values + len(labels)]]
        if self.has_missing[j]:
            labels, heights = ["missing", *labels], [values[-1], *heights]
        marks_x = high + width * (0.12 + 0.14 * np.arange(len(labels)))
        marks: list[Any] = []
        for x_mark, label, height, shape in zip(marks_x, labels, heights, cycle("Dosv^*")):
            style = {"linestyle": "none", "marker": shape, "label": label}
            marks += panel.plot([x_mark], [height], color=drawing.COLOURS[1], **style)
            placement = {"transform": panel.get_xaxis_transform(), "ha": "center", "va": "top"}
            panel.text(x_mark, -0.03, label, rotation=90, fontsize="small", **placement)
        self.marks_.append(marks)
        if not marks:
            return high + 0.03 * width
        if bins.categories is None:
            panel.set_xticks([tick for tick in panel.get_xticks() if tick <= high])
        right_end = marks_x[-1] + 0.07 * width
        panel.axvspan(high + 0.05 * width, right_end, color="0.93", zorder=0)
        return float(right_end)


def _choose_features(
    owner: str, ranker: Any, names: Sequence[str], features: Any, max_features: int | None
) -> Indices:
    """Return the columns to draw, the most important first."""
    if max_features is not None:
        drawing.check_count(owner, max_features=max_features)
    if features is None:
        chosen = np.unique(ranker.weak_rankers_.feature)
    else:
        features = [features] if isinstance(features, str) else features
        columns = [names.index(name) if name in names else name for name in features]
        allowed = Number(0, len(names) - 1, integer=True)  # no boolean: a mask is refused
        unknown = [column for column in columns if not allowed.allows(column)]
        if unknown:
            requirement = f"A feature is a column's name or {allowed}."
            raise ValueError(f"{owner}: features not known to the ranker: {unknown}. {requirement}")
        chosen = np.unique(np.array(columns, dtype=np.intp))
    by_importance = np.argsort(-ranker.feature_importances_[chosen], kind="stable")
    chosen = chosen[by_importance][:max_features]
    if len(chosen) == 0:
        raise ValueError(
            f"{owner} has no feature to draw: the model uses none, or none was requested."
        )
    return np.asarray(chosen)


def _drawn_ranges(functions: list[StepFunction], columns: Floats | None) -> Floats:
    """Return the ranges to draw: those of the rows, or of the thresholds with a margin."""
    ranges = []
    for j, function in enumerate(functions):
        values = function.bins.thresholds
        if columns is not None:
            x = columns[j]
            values = x[np.isfinite(x) & ~np.isin(x, function.bins.special)]
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
        margin = 0.1 * (high - low) if columns is None else 0.0
        if high - low + margin == 0:
            margin = max(1.0, abs(low) * 0.1)
        ranges.append((low - margin, high + margin))
    return np.array(ranges)
