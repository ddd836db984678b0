"""What every test shares: Hypothesis profiles, matplotlib without windows, restored settings."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")  # before anything imports matplotlib

from types import SimpleNamespace

import pytest
import sklearn
from hypothesis import settings

from sklearn_rank.estimators import _boosting_ranker

# "ci" draws the same examples on every run, so a failure can be repeated from its log alone.
# "deep" is for looking for trouble by hand: HYPOTHESIS_PROFILE=deep pytest
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("deep", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def restore_sklearn_config():
    """Undo what a test does to scikit-learn's global settings, metadata routing above all."""
    before = sklearn.get_config()
    yield
    sklearn.set_config(**before)


@pytest.fixture
def seen(monkeypatch):
    """What early stopping trains on and what it holds out, filled by the next fit."""
    seen = SimpleNamespace()

    def spy(data, fraction, seed):
        seen.all = data
        seen.train, seen.held_out = split(data, fraction, seed)
        return seen.train, seen.held_out

    split = _boosting_ranker.split_validation
    monkeypatch.setattr(_boosting_ranker, "split_validation", spy)
    return seen
