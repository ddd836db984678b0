"""scikit-learn's own checks of the scorecard, with no expected failure."""

import pytest
from test_check_estimator import assert_checks_pass

from sklearn_rank.scorecard import Scorecard

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_checks_of_scikit_learn():
    assert_checks_pass(Scorecard(n_repeats=1, cv=2))
