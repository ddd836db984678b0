"""Faults that tests have workers and a scheduler make.

Their processes import this module, and must not import the tests with all that these need.
"""

import os
import threading

import xgboost
from xgboost import collective
from xgboost.core import XGBoostError

from sklearn_rank.dask import _cluster_fit, _fit_task


def hold_back_one(call):
    """On a worker: have the first process of a fit wait for ever in a call, another one fail."""
    function, calls = getattr(collective, call), []

    def late(*arguments, **given):
        if not calls:
            calls.append(threading.current_thread().name)
            if calls[0].endswith("-0"):
                threading.Event().wait()
            raise XGBoostError("lost")
        return function(*arguments, **given)

    setattr(collective, call, late)
    _fit_task._GRACE = 1.0


def end_second_in_round(number):
    """On a worker: end the second process of a fit when it has grown some trees."""
    boost, calls = xgboost.Booster.boost, []

    def boost_or_end(*arguments, **given):
        calls.append(threading.current_thread().name)
        if len(calls) > number and calls[0].endswith("-1"):
            os._exit(1)
        return boost(*arguments, **given)

    xgboost.Booster.boost = boost_or_end


def kill_tracker(dask_scheduler):
    dask_scheduler.plugins[_cluster_fit._TURN].tracker._process.kill()
