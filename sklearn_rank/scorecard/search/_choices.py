"""What a card chooses by folds: the candidates, and the ranker at the chosen settings."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_rank._core.distinct import number_of_rows
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import Described, Number
from sklearn_rank.metrics.scorers import as_scorer
from sklearn_rank.models import as_model
from sklearn_rank.models.stumps import check_monotonic
from sklearn_rank.scorecard.search._folds import FoldFits, make_folds
from sklearn_rank.scorecard.search._search import Search, Settings
from sklearn_rank.scorecard.search._trends import decided_directions

POWERS = (4.0, 2.0, 1.0, 8.0, 16.0)
"""The candidates for p, the first that is good enough wins; so for all others.

First is the default of `PNormPushRanker`: small tables seldom show which p is best, and there the
first is what a card gets. Where the AUC is the metric it is 1, whose loss bounds the AUC's."""

RIDGES = (5.0, 20.0)
"""Those for the ridge, times the number of training rows."""

BIN_SIZES = (0.02, 0.05)
"""Those for the smallest bin, as a share of the training rows."""

SHARES_OF_TERMS = (1.0, 0.6)
"""Those for the number of terms, as shares of the most."""

MOST_PAIRS = 10
"""The other candidate than 0 for the number of pairs of variables, if a card may have so many."""

AS_IT_IS: dict[str, Any] = {
    "p": "auto",
    "alpha": "auto",
    "min_bin_size": "auto",
    "monotonic_cst": None,
    "max_pairs": "auto",
}
"""The parameters of a scorecard that change a ranker, at the values that leave it as it is."""

_MANY_SIZES = 20
"""Sizes of cards that are compared at most."""

Candidates = dict[str, tuple[Any, ...]]
"""Candidates by the name of a setting, in the order of the search."""


def _are_signs(value: Any) -> bool:
    is_text = isinstance(value, str)
    return value == "auto" if is_text else value is None or hasattr(value, "__len__")


SIGNS = Described("'auto', None, an array of -1, 0 and 1, or a dict of these", _are_signs)
RIDGE = Number(0, closed="left", other=("auto",))
PAIRS = Number(0, integer=True, other=("auto",))
BIN_SIZE = Number(0, 0.5, other=("auto",))


def set_stumps(ranker: Any, **parameters: Any) -> Any:
    """Set parameters of the stumps of a booster, which may be a name, and return the booster."""
    stumps = clone(as_model(ranker.weak_ranker))
    return ranker.set_params(weak_ranker=stumps.set_params(**parameters))


def has_ridge(ranker: Any) -> bool:
    """Whether a ranker takes a ridge for the stumps that it chooses one by one."""
    solver: Any = getattr(ranker, "solver_in_use", None)
    return getattr(solver, "has_ridge", False) and not solver.moves_all


def check_frozen(card: Any) -> None:
    """Raise ValueError for parameters of a scorecard that a fitted ranker can't take."""
    for name, left in AS_IT_IS.items():
        value = getattr(card, name)
        is_none = name == "max_pairs" and not isinstance(value, str) and value == 0
        is_left = value is None or is_none or (name != "monotonic_cst" and value == left)
        if not is_left:
            raise ValueError(
                f"{name}={value!r} of Scorecard can't be set on a frozen ranker, which is "
                f"rounded as it is. Use {name}={left!r}, or the ranker without FrozenEstimator."
            )


def _own(ranker: Any, name: str) -> Any:
    """Return the value that a ranker has been given for a setting; None without one."""
    if name == "alpha":
        alpha = getattr(ranker, "alpha", "auto")
        return None if isinstance(alpha, str) else alpha
    stumps = as_model(ranker.weak_ranker)
    if name == "monotonic_cst":
        signs = getattr(stumps, name)
        return getattr(ranker, name, None) if signs is None else signs
    return getattr(stumps, name) or None


def with_parameters(
    ranker: Any, alpha: Any, min_bin_size: Any, monotonic_cst: Any, max_pairs: Any
) -> Any:
    """Set what the parameters of a scorecard say on its ranker, and return it.

    Raises
    ------
    ValueError
        When the ranker has a value of its own, or can't take one.
    """
    given = {"alpha": alpha, "min_bin_size": min_bin_size, "monotonic_cst": monotonic_cst}
    given["max_pairs"] = max_pairs or None
    defaults = {"monotonic_cst": "None", "max_pairs": "0"}
    for name, value in given.items():
        own = _own(ranker, name)
        if value is None or own is None or (isinstance(value, str) and name != "monotonic_cst"):
            continue
        default = defaults.get(name, "'auto'")
        raise ValueError(
            f"{name} is set on Scorecard and on its ranker. Set it on one of them; {default} of "
            f"Scorecard keeps the ranker's. Got {value!r} and {own!r}."
        )
    if not isinstance(alpha, str):
        if not has_ridge(ranker):
            raise ValueError(
                f"alpha={alpha!r} of Scorecard needs a ranker with a ridge, such as "
                f"PNormPushRanker(solver='corrective'). Got {ranker!r}. Use alpha='auto'."
            )
        ranker.set_params(alpha=alpha)
    if _own(ranker, "min_bin_size") is None:
        is_open = isinstance(min_bin_size, str)
        set_stumps(ranker, min_bin_size=BIN_SIZES[0] if is_open else min_bin_size)
    if monotonic_cst is not None and not isinstance(monotonic_cst, str):
        set_stumps(ranker, monotonic_cst=monotonic_cst)
    if max_pairs and not isinstance(max_pairs, str):
        set_stumps(ranker, max_pairs=max_pairs)
    return ranker


def candidates(ranker: Any, card: Any, n_rows: float) -> Candidates:
    """Return the candidates of all that is searched for a ranker, in order.

    Parameters
    ----------
    ranker : ranker
        With the parameters of the card.
    card : Scorecard
        Its parameters say what is "auto", and what the user's own ranker sets.
    n_rows : float
        Number of training rows.
    """
    found: Candidates = {}
    if isinstance(card.p, str) and hasattr(ranker, "p"):
        found["p"] = tuple(sorted(POWERS)) if card.scoring in (None, "auc") else POWERS
    if has_ridge(ranker) and isinstance(card.alpha, str):
        if _own(ranker, "alpha") is None:
            found["alpha"] = tuple(one / n_rows for one in RIDGES)
        own = None if card.ranker is None else _own(card.ranker, "min_bin_size")
        if isinstance(card.min_bin_size, str) and own is None:
            found["min_bin_size"] = BIN_SIZES
        if card.max_terms is not None:
            sizes = [max(1, round(share * card.max_terms)) for share in SHARES_OF_TERMS]
            found["n_terms"] = tuple(dict.fromkeys(sizes))
        if isinstance(card.max_pairs, str) and _own(ranker, "max_pairs") is None:
            # Last, because fits with pairs take the longest.
            most = MOST_PAIRS if card.max_terms is None else card.max_terms
            found["max_pairs"] = (0, min(most, MOST_PAIRS))
    return found


def _check_signs(card: Any, ranker: Any) -> None:
    """Raise ValueError for directions of a scorecard that the columns can't have."""
    if card.monotonic_cst is None or isinstance(card.monotonic_cst, str):
        return
    names, n_features = getattr(ranker, "feature_names_in_", None), int(ranker.n_features_in_)
    codes, plain = ranker.category_codes_, set_stumps(copy(ranker), monotonic_cst=None)
    ordered = plain.stump_settings()["category_order"]  # it would blame Stumps for the directions
    categorical = () if codes is None else tuple(set(codes.positions) - set(ordered))
    check_monotonic(type(card).__name__, card.monotonic_cst, names, n_features, categorical)


def sizes_up_to(most: int) -> list[int]:
    """Return all numbers of terms up to the most; of many about twenty, by equal factors."""
    if most <= _MANY_SIZES:
        return list(range(1, most + 1))
    return np.unique(np.geomspace(1, most, _MANY_SIZES).round().astype(int)).tolist()


def at_settings(ranker: Any, settings: Settings) -> Any:
    """Return a copy of a ranker, which has validated its data, at some settings."""
    own = copy(ranker)
    names = {"min_bin_size": "min_bin_size", "max_pairs": "max_pairs", "n_terms": "max_thresholds"}
    of_stumps = {names[name]: value for name, value in settings.items() if name in names}
    others = {name: value for name, value in settings.items() if name not in names}
    if of_stumps:
        set_stumps(own, **of_stumps)
    return own.set_params(**others)


def chosen_settings(ranker: Any) -> dict[str, Any]:
    """Return the settings of a ranker that a card states: alpha, smallest bin, terms."""
    stumps: Any = as_model(ranker.weak_ranker)
    alpha = _own(ranker, "alpha") if has_ridge(ranker) else None
    return {
        "alpha": None if alpha is None else float(alpha),
        "smallest_bin": float(stumps.min_bin_size),
        "most_pairs": stumps.max_pairs,
        "most_terms": stumps.max_thresholds,
        "monotone": _directions(ranker),
    }


def _directions(ranker: Any) -> str | None:
    """Return the constraint of each monotone variable in words; None without any."""
    signs = ranker.stump_settings()["monotonic_cst"]
    names = getattr(ranker, "feature_names_in_", None)
    called = {j: f"x{j}" if names is None else str(names[j]) for j in signs}
    words = {1: "rising", -1: "falling"}
    return ", ".join(f"{called[j]} {words[sign]}" for j, sign in signs.items()) or None


@dataclass(frozen=True, eq=False)
class Plan:
    """What a card searches on its training rows.

    Attributes
    ----------
    data : Rows
        The training rows, equal ones as one.
    known : Rows
        The same rows of all processes, without features.
    candidates : dict of str to tuple
        Those of each setting, in order.
    search : Search
        Starts at the first of each.
    """

    data: Rows
    known: Rows
    candidates: Candidates
    search: Search

    @classmethod
    def of(cls, card: Any, data: Rows, ranker: Any, folds: Any, *, repeats: bool = False) -> Plan:
        """Return the plan of a card; a ranker gets the directions that the data decide.

        Parameters
        ----------
        card : Scorecard
            Its parameters.
        data : Rows
            The training rows of this process.
        ranker : ranker
            With the parameters of the card; it has validated the rows.
        folds : list or None
            Folds of the user's own, of `data`.
        repeats : bool, default=False
            Whether the folds are repeated although nothing is searched.
        """
        merged = data.distinct()
        known, *_ = merged.everywhere(with_features=False)
        n_rows = number_of_rows(known.weight)
        _check_signs(card, ranker)
        if isinstance(card.monotonic_cst, str):
            signs = decided_directions(data, ranker, n_rows / float(known.weight.sum()))
            set_stumps(ranker, monotonic_cst=signs)
        found = candidates(ranker, card, n_rows)
        divided = [(data, some) for some in folds or ()]
        if folds is None:
            random = check_random_state(card.random_state)
            n_repeats = card.n_repeats if found or repeats else 1
            divided = make_folds(merged, card.cv, n_repeats, random)
        scorer = as_scorer(card.scoring or "auc")
        fits = [FoldFits(rows, some, scorer, card.n_jobs) for rows, some in divided]
        start = {name: values[0] for name, values in found.items()}
        return cls(merged, known, found, Search(fits, partial(at_settings, ranker), start))

    def run(self) -> dict[str, dict[Any, Floats]]:
        """Choose the settings one after the other; return the scores by fold of each candidate."""
        return {name: self.search.choose(name, values) for name, values in self.candidates.items()}
