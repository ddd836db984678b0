"""Real data of the benchmarks: from a folder, the three two-class sets else from OpenML.

None of these data are part of this repository. The folder, `--data DIR` or SKLEARN_RANK_DATA, holds

    magic_gamma/magic04.data.gz        UCI 159, as published: 10 features and the class, by commas
    ionosphere/ionosphere.data         UCI 52, as published: 34 features and the class, by commas
    boston_housing/housing.data        StatLib's, 14 columns by blanks, a line for each tract
    letor_mq2008_fold1/                train.txt.gz, vali.txt.gz and test.txt.gz of LETOR 4.0
    letor_ohsumed_s123/                S1.txt.gz, S2.txt.gz and S3.txt.gz of LETOR with 25 features
    lightgbm_lambdarank/               rank.train.gz, rank.test and their .query files, of LightGBM
    rare/                              seven tables of UCI as CSV, see _list_tables.py

Nothing large is imported before it is used: see _harness.py.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

MQ2008 = "letor_mq2008_fold1"
OHSUMED = "letor_ohsumed_s123"
LIGHTGBM = "lightgbm_lambdarank"

# The first three subsets of MQ2008, which are joined in the training file of its Fold 1.
MQ2008_LINES = (2933, 3635, 3062)


class DataNotFoundError(RuntimeError):
    """A data set is neither in the folder nor to be had from OpenML."""


def load_each(load, names, folder):
    """Return what `load` finds for each name, and a note for each set that is not there."""
    tables, notes = {}, []
    for name in names:
        try:
            tables[name] = load(name, folder)
        except DataNotFoundError as error:
            notes.append(f"{name}: {error}")
    return tables, notes


class TwoClasses(NamedTuple):
    """Features, and labels of which 1 belongs at the top."""

    X: Any
    y: Any


@dataclass(frozen=True)
class TwoClassSource:
    """Where a two-class set is and what its columns mean."""

    file: str
    separator: str
    columns: tuple[str, ...]
    label: str
    classes: tuple[str, str]
    """The negative one, then the positive one."""
    openml: str
    counts: tuple[int, int]
    """Rows of either class: OpenML has other versions of these sets under the same names."""


MAGIC_COLUMNS = "fLength fWidth fSize fConc fConc1 fAsym fM3Long fM3Trans fAlpha fDist class"
HOUSING_COLUMNS = "CRIM ZN INDUS CHAS NOX RM AGE DIS RAD TAX PTRATIO B LSTAT MEDV"
IONOSPHERE_COLUMNS = (*(f"a{number:02}" for number in range(1, 35)), "class")
TWO_CLASS_SETS = {
    "magic": TwoClassSource(
        file="magic_gamma/magic04.data.gz",
        separator=",",
        columns=tuple(MAGIC_COLUMNS.split()),
        label="class",
        classes=("h", "g"),
        openml="MagicTelescope",
        counts=(6688, 12332),
    ),
    "ionosphere": TwoClassSource(
        file="ionosphere/ionosphere.data",
        separator=",",
        columns=IONOSPHERE_COLUMNS,
        label="class",
        classes=("g", "b"),
        openml="ionosphere",
        counts=(225, 126),
    ),
    "housing": TwoClassSource(
        file="boston_housing/housing.data",
        separator=r"\s+",
        columns=tuple(HOUSING_COLUMNS.split()),
        label="CHAS",
        classes=("0", "1"),
        openml="boston",
        counts=(471, 35),
    ),
}


def load_two_classes(name, folder=None):
    """Return a set of TWO_CLASS_SETS, features in the order of the file."""
    import pandas as pd

    source = TWO_CLASS_SETS[name]
    path = None if folder is None else Path(folder) / source.file
    if path is not None and path.is_file():
        frame = pd.read_csv(path, sep=source.separator, names=source.columns)
    else:
        frame = _fetch_frame(source, path)
    # Codes of OpenML are 1.0 or "1", and a class may be a letter.
    labels = frame[source.label].map(lambda value: str(value).strip().removesuffix(".0"))
    counts = tuple((labels == value).sum() for value in source.classes)
    if counts != source.counts:
        raise ValueError(
            f"{name} must have {source.counts} rows of the classes {source.classes}. Got {counts}."
        )
    X = frame.drop(columns=source.label).to_numpy(dtype=float).copy(order="C")
    return TwoClasses(X, (labels == source.classes[1]).to_numpy(dtype=int))


def load_table(name, folder, credit_rows=6_000):
    """Return the features of a table of two classes, and labels of which 1 belongs at the top."""
    from sklearn.datasets import load_breast_cancer, load_digits

    from sklearn_rank.datasets import make_credit

    if name == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return X, y == 0
    if name.startswith("digit"):
        X, digit = load_digits(return_X_y=True)
        return X, digit == int(name.removeprefix("digit"))
    if name == "credit":
        table = make_credit(credit_rows, random_state=0)
        return table.data, table.target
    return load_two_classes(name, folder)


def _fetch_frame(source, path):
    """Return the table of a set of OpenML, with the columns named and ordered as here."""
    from sklearn.datasets import fetch_openml

    try:
        # With as_frame=False nominal columns, as RAD and CHAS of "boston", come as codes.
        frame = fetch_openml(source.openml, version=1, as_frame=True).frame
    except (OSError, ValueError, ImportError) as error:
        looked = f"{path} is not there" if path else "no folder was given (SKLEARN_RANK_DATA)"
        raise DataNotFoundError(
            f"{source.file}: {looked}, and {source.openml!r} did not come from OpenML: {error}"
        ) from error
    # "MagicTelescope" writes "fLength:", and has an ID besides.
    names = {column.lower(): column for column in source.columns}
    frame = frame.rename(columns=lambda name: names.get(str(name).strip(" :").lower(), name))
    return frame[list(source.columns)]


def load_mq2008(folder):
    """Return the five folds of MQ2008, each as (train, valid, test)."""
    import numpy as np

    from sklearn_rank.datasets import load_letor

    joined, *others = (
        load_letor(Path(folder) / MQ2008 / f"{part}.txt.gz", n_features=46)
        for part in ("train", "vali", "test")
    )
    ends = np.cumsum(MQ2008_LINES)
    if len(joined.target) != ends[-1]:
        raise ValueError(
            f"{MQ2008}/train.txt.gz: must have {ends[-1]} rows. Got {len(joined.target)}."
        )
    starts = [0, *ends]
    parts = [select(joined, slice(*both)) for both in pairwise(starts)] + others
    turned = [parts[k:] + parts[:k] for k in range(5)]
    return [(join(turn[:3]), turn[3], turn[4]) for turn in turned]


def load_ohsumed(folder):
    """Return three folds of OHSUMED, each as (train, test); the k-th tests on subset k."""
    from sklearn_rank.datasets import load_letor

    parts = [
        load_letor(Path(folder) / OHSUMED / f"S{number}.txt.gz", n_features=25)
        for number in (1, 2, 3)
    ]
    return [(join(parts[:k] + parts[k + 1 :]), parts[k]) for k in range(3)]


def load_lightgbm(folder):
    """Return (train, test) of LightGBM's example, whose query lengths are files of their own.

    The numbers of the test queries follow on those of the training queries.
    """
    import numpy as np

    from sklearn_rank.datasets import load_letor

    parts = []
    for name, packed in (("rank.train", ".gz"), ("rank.test", "")):
        path = Path(folder) / LIGHTGBM / (name + packed)
        part = load_letor(path, n_features=300)
        lengths = np.loadtxt(path.with_name(f"{name}.query"), dtype=int, ndmin=1)
        if lengths.sum() != len(part.target):
            raise ValueError(
                f"{path}: has {len(part.target)} rows, {name}.query {lengths.sum()} in its queries."
            )
        first = parts[0].qid.max() + 1 if parts else 0
        part.qid = np.repeat(np.arange(len(lengths)) + first, lengths)
        part.data = part.data.toarray()
        parts.append(part)
    return tuple(parts)


def select(part, rows):
    """Return some rows of a part."""
    from sklearn.utils import Bunch

    return Bunch(data=part.data[rows], target=part.target[rows], qid=part.qid[rows])


def join(parts):
    """Return the rows of all parts."""
    import numpy as np
    from sklearn.utils import Bunch

    keys = ("data", "target", "qid")
    return Bunch(**{key: np.concatenate([part[key] for part in parts]) for key in keys})
