"""How tests start processes: where there is that, by a fork of one that has the imports."""

import multiprocessing

METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


def preload(*modules):
    """Have the process that is forked import what fits on several processes need, and more."""
    if METHOD == "forkserver":  # a third of the seconds: modules are imported once
        needed = ["xgboost", "sklearn_rank.dask._fit_task", *modules]
        multiprocessing.get_context(METHOD).set_forkserver_preload(needed)
