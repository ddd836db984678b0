"""The rows of `scorecards.py`: random splits of 13 tables, in files for every library."""

from pathlib import Path
from typing import Any

DATA_TITLES = {
    "magic": "MAGIC",
    "ionosphere": "ionosphere",
    "housing": "housing, CHAS",
    "cancer": "breast cancer, malignant",
    "digit8": "digits, 8 against the rest",
    "credit": "make_credit",
    "wilt": "wilt",
    "wine_quality": "white wine, grade 4 or less",
    "yeast_me2": "yeast, ME2",
    "abalone": "abalone, 7 rings",
    "ozone_level_8hr": "ozone, 8 hours",
    "qsar_biodeg": "biodegradation",
    "adult": "adult, income above 50,000",
}

TEST_SHARE = 0.4
CREDIT_ROWS = 10_000
BAND = 50
"""Rows of a band of the risk, at least."""
NORMAL = 1.96


def write_split(path: Path, data: str, split: int, folder: Path | None) -> None:
    """Write one random split, 60 % of each class to train on."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    X, y, categorical, special = load_rows(data, folder)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, stratify=y, random_state=split
    )
    np.savez(
        path,
        X=X_train,
        y=y_train,
        X_test=X_test,
        y_test=y_test,
        categorical=np.array(categorical, dtype=np.intp),
        special=np.array(special, dtype=float).reshape(-1, 2),
    )


def load_rows(data: str, folder: Path | None) -> tuple[Any, Any, list[int], list[Any]]:
    """Return features, labels, categorical columns and special codes as (column, code)."""
    from _list_tables import RARE, load_table
    from _real_data import TWO_CLASS_SETS, load_two_classes
    from sklearn.datasets import load_breast_cancer, load_digits

    if data in RARE:
        X, y = load_table(data, folder)
        numbers, categorical = coded(X)
        return numbers, y, categorical, []
    if data in TWO_CLASS_SETS:
        return (*load_two_classes(data, folder), [], [])
    if data == "cancer":
        X, benign = load_breast_cancer(return_X_y=True)
        return X, 1 - benign, [], []
    if data == "digit8":
        X, digit = load_digits(return_X_y=True)
        return X, (digit == 8).astype(int), [], []
    return load_credit()


def load_credit() -> tuple[Any, Any, list[int], list[Any]]:
    """Return loan applications with the codes of categories, NaN where missing."""
    from sklearn_rank.datasets import make_credit

    credit = make_credit(CREDIT_ROWS, random_state=0)
    names = list(credit.data.columns)
    X, categorical = coded(credit.data)
    special = [
        (names.index(name), code) for name, codes in credit.special_values.items() for code in codes
    ]
    return X, credit.target, categorical, special


def coded(table: Any) -> tuple[Any, list[int]]:
    """Return numbers with the codes of categories, NaN where missing; and columns of categories."""
    import numpy as np

    X, categorical = np.empty(table.shape), []
    for column, name in enumerate(table.columns):
        values = table[name]
        if values.dtype == "category":
            codes = values.cat.codes.to_numpy()
            X[:, column] = np.where(codes < 0, np.nan, codes)
            categorical.append(column)
        else:
            X[:, column] = values.to_numpy(dtype=float)
    return X, categorical
