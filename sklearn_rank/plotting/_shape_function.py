"""The contribution of each feature to the score of a stump ranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._protocols import Floats, Indices, Values
from sklearn_rank.plotting._drawing import (
    COLOURS,
    import_matplotlib,
    legend_above,
    panels,
    use_light_frame,
)
from sklearn_rank.plotting._step_functions import (
    check_rows,
    choose_features,
    drawn_ranges,
    step_function,
)


class ShapeFunctionDisplay:
    r"""Plot the additive score of a stump ranker, one step function for each feature.

    .. math:: f(x) = b + \sum_j s_j(x_j), \qquad
        s_j(v) = \sum_{t:\, j_t = j} \alpha_t 1[v > \theta_t]

    where :math:`j_t`, :math:`\theta_t` and :math:`\alpha_t` are feature, threshold and
    coefficient of round t and b is `offset_` in binary mode, else 0. A missing value adds the
    coefficients of the stumps that send it to the right. This is the complete model.

    Parameters
    ----------
    features : ndarray of shape (n_shown,)
        Columns, the most important first.
    names : sequence of str
        Their names.
    importances : ndarray of shape (n_shown,)
        Their shares of the decrease of the objective.
    thresholds : list of ndarray of shape (n_thresholds,)
        Jumps of each function, increasing.
    values : list of ndarray of shape (n_thresholds + 1,)
        Values of each function up to the first threshold, between two, and above the last.
    missing : ndarray of shape (n_shown,)
        Contribution of a missing value of each.
    has_missing : ndarray of shape (n_shown,)
        Whether missing values were seen in training or in X.
    ranges : ndarray of shape (n_shown, 2)
        Minimum and maximum value to draw.
    intercept : float, default=0.0
        b.

    Attributes
    ----------
    steps_ : list of matplotlib StepPatch
        The functions.
    missing_marks_ : list of matplotlib Line2D or None
        Markers of the missing values.
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
    >>> display.contributions(X).shape
    (569, 3)
    """

    def __init__(
        self,
        *,
        features: Indices,
        names: Sequence[str],
        importances: Floats,
        thresholds: list[Floats],
        values: list[Floats],
        missing: Floats,
        has_missing: Values,
        ranges: Floats,
        intercept: float = 0.0,
    ) -> None:
        self.features = features
        self.names = names
        self.importances = importances
        self.thresholds = thresholds
        self.values = values
        self.missing = missing
        self.has_missing = has_missing
        self.ranges = ranges
        self.intercept = intercept

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        features: Sequence[int | str] | None = None,
        max_features: int | None = 6,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted ranker with ``weak_ranker="stump"``.

        Parameters
        ----------
        estimator : object
            The ranker itself, not a pipeline, whose columns may differ from those of its ranker.
        X : array-like of shape (n_samples, n_features), default=None
            Rows that set the range of each feature. None: the thresholds with a margin.
        features : sequence of int or str, default=None
            Columns or their names. None: those that the model uses.
        max_features : int or None, default=6
            Maximum number of features, the most important first. None: all.
        ax : matplotlib Axes or array of them, default=None
            One for each feature, or one to divide. None: a new figure.
        **options : Any
            For `plot`.

        Returns
        -------
        self : ShapeFunctionDisplay
            Drawn.

        Raises
        ------
        ValueError
            When the model is not a sum of stumps, or a feature is unknown.
        """
        import_matplotlib(cls.__name__)
        check_is_fitted(estimator)
        rules: Any = getattr(estimator, "weak_rankers_", None)
        if not hasattr(rules, "missing_right"):
            raise ValueError(
                f"{cls.__name__} needs a boosting ranker fitted with weak_ranker='stump', which "
                f"is a sum of step functions. {type(estimator).__name__} is none."
            )
        all_names = getattr(estimator, "feature_names_in_", None)
        if all_names is None:
            all_names = np.array([f"x{j}" for j in range(estimator.n_features_in_)], dtype=object)
        chosen = choose_features(cls.__name__, estimator, all_names, features, max_features)
        weights = estimator.estimator_weights_
        shapes = [step_function(rules, weights, j) for j in chosen]
        columns = None if X is None else check_rows(X, estimator.n_features_in_)[:, chosen].T
        has_missing = np.array([rules.missing_right[rules.feature == j].any() for j in chosen])
        if columns is not None:
            has_missing |= np.isnan(columns).any(axis=1)
        display = cls(
            features=chosen,
            names=[str(all_names[j]) for j in chosen],
            importances=estimator.feature_importances_[chosen],
            thresholds=[shape[0] for shape in shapes],
            values=[shape[1] for shape in shapes],
            missing=np.array([shape[2] for shape in shapes]),
            has_missing=has_missing,
            ranges=drawn_ranges([shape[0] for shape in shapes], columns),
            intercept=float(getattr(estimator, "offset_", 0.0)),
        )
        return display.plot(ax, **options)

    def contributions(self, X: Any) -> Floats:
        """Return the value of each drawn function for each row.

        The method `contributions` of a ranker subtracts the mean over the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with all the columns that the ranker was fitted to; NaN for missing values.

        Returns
        -------
        ndarray of shape (n_samples, n_shown)
            With all features of the model the row sums plus `intercept` are its scores.
        """
        columns = np.asarray(X, dtype=np.float64)[:, self.features].T
        added = [
            np.where(np.isnan(x), missing, values[np.searchsorted(thresholds, x)])
            for x, thresholds, values, missing in zip(
                columns, self.thresholds, self.values, self.missing, strict=True
            )
        ]
        return np.column_stack(added)

    def plot(self, ax: Any = None, *, n_columns: int = 3, **step_options: Any) -> Self:
        """Draw a panel for each feature, all with one scale of the score.

        Parameters
        ----------
        ax : matplotlib Axes or array of them, default=None
            One for each feature, or one to divide. None: a new figure.
        n_columns : int, default=3
            Panels side by side.
        **step_options : Any
            For matplotlib's ``stairs``.

        Returns
        -------
        self : ShapeFunctionDisplay
            With `axes_`, `ax_`, `figure_`, `steps_` and `missing_marks_` set.
        """
        owner, n_shown = type(self).__name__, len(self.features)
        self.axes_ = panels(owner, ax, n_shown, n_columns=n_columns, size=(3.0, 2.5))
        self.steps_: list[Any] = []
        self.missing_marks_: list[Any] = []
        for number, panel in enumerate(self.axes_):
            self._draw_feature(panel, number, step_options)
        for panel in self.axes_[::n_columns]:
            panel.set_ylabel("added to the score")
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        return self

    def _draw_feature(self, panel: Any, number: int, step_options: dict[str, Any]) -> None:
        low, high = self.ranges[number]
        thresholds, values = self.thresholds[number], self.values[number]
        inside = (thresholds > low) & (thresholds < high)
        first = int(np.searchsorted(thresholds, low, "right"))
        edges = np.concatenate([[low], thresholds[inside], [high]])
        shown = values[first : first + len(edges) - 1]
        style = {"baseline": None, "color": COLOURS[0], "linewidth": 2.0}
        panel.axhline(0.0, color="0.6", linewidth=1.0, zorder=1)
        self.steps_.append(panel.stairs(shown, edges, **{**style, **step_options}))
        mark = None
        room = high - low
        if self.has_missing[number]:
            place = high + 0.12 * room
            panel.axvspan(high + 0.05 * room, high + 0.19 * room, color="0.93", zorder=0)
            style = {"marker": "D", "color": COLOURS[1], "linestyle": "none", "label": "missing"}
            (mark,) = panel.plot([place], [self.missing[number]], **style)
            corner = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderpad": 0.0}
            legend_above(panel, 1, **corner, fontsize="small", handlelength=1.0)
        self.missing_marks_.append(mark)
        panel.set_xlim(low - 0.03 * room, high + (0.19 if mark else 0.03) * room)
        panel.set_xlabel(self.names[number])
        panel.set_title(
            f"importance {100 * self.importances[number]:.0f} %", fontsize="small", loc="left"
        )
        use_light_frame(panel)
