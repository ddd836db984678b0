"""Rankers fitted on a Dask cluster, with the same model as in one process.

Needs the extra ``dask``: Dask, its scheduler `distributed`, and XGBoost, whose communication
between workers carries the sums.
"""

try:
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
    import xgboost.collective  # noqa: F401
except Exception as error:  # a library that the wheel doesn't bring can show in any way
    raise ImportError(
        "sklearn_rank.dask needs dask[dataframe], distributed and xgboost "
        f'(pip install "sklearn-rank[dask]"): {error}'
    ) from error

from sklearn_rank.dask._supported import check_supported as check_supported
from sklearn_rank.dask.ranker import DaskRanker

__all__ = ["DaskRanker"]
