"""The search for the settings of a card: one after the other, all by the same folds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.rows import Rows
from sklearn_rank.metrics.intervals import error_over_folds
from sklearn_rank.scorecard.search._folds import CardTotals, FoldFit, FoldFits

Settings = dict[str, Any]
"""Values by the name of a setting."""

Scores = Mapping[Any, Floats]
"""The scores of candidates by fold, the simplest candidate first."""

_HOPELESS = 2.0
"""Standard errors below the best from which a candidate is left out of further repeats."""


class Search:
    """Chooses settings one after the other; a setting once chosen stays.

    Parameters
    ----------
    fits : list of FoldFits
        One for each repeat of the folds; none where there are too few rows. A single fold has no
        standard error: nothing is chosen by it, but its rows are held out.
    ranker_at : callable
        Takes settings and returns a ranker, which has validated the data.
    settings : dict of str to object
        Where the search starts.

    Attributes
    ----------
    settings : dict of str to object
        What has been chosen so far.
    path : list of dict
        A record of each candidate: parameter, value, score (mean over the folds), error (standard
        error of its mean difference to the best), n_folds, and whether it was chosen.
    """

    def __init__(
        self, fits: Sequence[FoldFits], ranker_at: Callable[[Settings], Any], settings: Settings
    ) -> None:
        self._fits, self._ranker_at = fits, ranker_at
        self._can_compare = sum(len(one.folds) for one in fits) > 1
        self.settings = dict(settings)
        self.path: list[dict[str, Any]] = []
        self._scores: dict[Hashable, list[Floats]] = {}
        self._first: dict[Hashable, list[FoldFit]] = {}

    @property
    def ranker(self) -> Any:
        """The ranker at the settings chosen."""
        return self._ranker_at(self.settings)

    def choose(self, name: str, candidates: Sequence[Any]) -> dict[Any, Floats]:
        """Choose a setting; return the scores of each candidate by fold.

        After a repeat those are left out that are more than two standard errors below the best,
        or less simple than it: the simplest of the best is chosen. When one is left, the search
        for this setting ends.

        Parameters
        ----------
        name : str
            The setting.
        candidates : sequence
            Its values, the simplest first.
        """
        if not self._can_compare:
            return {}
        tried = {value: {**self.settings, name: value} for value in candidates}
        left, scores, ratio = list(candidates), dict[Any, Floats](), self._fits[0].ratio
        for number, repeat in enumerate(self._fits):
            self._run(number, [tried[value] for value in left])
            for value in left:
                of_value = self._scores[_key(tried[value])][: number + 1]
                scores[value] = np.concatenate(of_value)
            known = {value: scores[value] for value in left}
            left = repeat.data.agree(may_be_chosen(known, ratio))
            if len(left) == 1:
                break
        chosen = self._fits[0].data.agree(simplest_of_the_best(scores, ratio))
        self.settings[name] = chosen
        self.path += _records(name, scores, ratio, chosen)
        return scores

    def compare(self, name: str, candidates: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the records of candidates for a setting, all tried in all folds; choose none."""
        if not self._can_compare:
            raise ValueError("Sizes need two folds: too few rows of a class, queries or folds.")
        tried = {value: {**self.settings, name: value} for value in candidates}
        for number in range(len(self._fits)):
            self._run(number, list(tried.values()))
        scores = {value: np.concatenate(self._scores[_key(one)]) for value, one in tried.items()}
        ratio = self._fits[0].ratio
        return _records(name, scores, ratio, simplest_of_the_best(scores, ratio))

    def held_out(self, card_totals: CardTotals) -> Rows | None:
        """Return the rows with their totals by cards made without them (`FoldFits.held_out`).

        The cards are of the chosen settings. None without folds.
        """
        if not self._fits:
            return None
        self._run(0, [self.settings])
        return self._fits[0].held_out(self._first[_key(self.settings)], self.ranker, card_totals)

    def _run(self, number: int, wanted: Sequence[Settings]) -> None:
        """Fit at some settings in the folds of a repeat, where that was not done before."""
        new = [one for one in wanted if len(self._scores.get(_key(one), [])) <= number]
        if not new:
            return
        found = self._fits[number].run([self._ranker_at(one) for one in new])
        for settings, fits in zip(new, found, strict=True):
            scores = np.array([one.score for one in fits])
            self._scores.setdefault(_key(settings), []).append(scores)
            if number == 0:
                self._first[_key(settings)] = fits


def _key(settings: Settings) -> Hashable:
    return tuple(sorted(settings.items()))


def simplest_of_the_best(scores: Scores, ratio: float) -> Any:
    """Return the simplest candidate whose mean score is within one standard error of the best.

    Only those are compared that have been tried in all folds. The standard error is that of the
    mean difference to the best, fold by fold, for folds that share training rows
    (`error_over_folds`).

    Parameters
    ----------
    scores : dict of object to ndarray
        Scores of the candidates by fold, the simplest candidate first.
    ratio : float
        Rows tested by rows trained on.
    """
    return _near_the_best(_in_all_folds(scores), ratio, 1.0)[0]


def may_be_chosen(scores: Scores, ratio: float) -> list[Any]:
    """Return the candidates that further folds may show to be the simplest of the best."""
    near = _near_the_best(scores, ratio, _HOPELESS)
    return near[: near.index(_best(scores)) + 1]


def _near_the_best(scores: Scores, ratio: float, n_errors: float) -> list[Any]:
    """Return each candidate that is at most some standard errors below the best."""
    best = scores[_best(scores)]
    return [
        value
        for value, of_value in scores.items()
        if (best - of_value).mean() <= n_errors * error_over_folds(best - of_value, ratio) + 1e-12
    ]


def _best(scores: Scores) -> Any:
    """Return the candidate with the largest mean score; ties go to the simplest."""
    return max(scores, key=lambda value: round(float(scores[value].mean()), 12))


def _records(name: str, scores: Scores, ratio: float, chosen: Any) -> list[dict[str, Any]]:
    """Return a record of each candidate for a setting."""
    best = scores[_best(_in_all_folds(scores))]
    return [
        {
            "parameter": name,
            "value": value,
            "score": float(of_value.mean()),
            "error": error_over_folds(best[: len(of_value)] - of_value, ratio),
            "n_folds": len(of_value),
            "chosen": value == chosen,
        }
        for value, of_value in scores.items()
    ]


def _in_all_folds(scores: Scores) -> Scores:
    """Return the scores of the candidates that have been tried in all folds."""
    n_folds = max(map(len, scores.values()))
    return {value: of for value, of in scores.items() if len(of) == n_folds}
