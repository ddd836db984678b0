"""Model files: a fitted pipeline and the schema of its table, stored by skops."""

from __future__ import annotations

import importlib
import inspect
import re
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

import sklearn_rank
from sklearn_rank._protocols import Floats
from sklearn_rank.cli._cards import load_card
from sklearn_rank.cli._columns import NUMBER, Schema, check_schema
from sklearn_rank.cli._errors import InputError, import_extra, listing, noting
from sklearn_rank.cli._output import Output
from sklearn_rank.cli._rankers import scores_of

_FORMAT = "sklearn-rank model"
_FORMAT_VERSION = 2
_MOST_UNPACKED = 100
"""Bytes that a byte of a file may unpack to; `save_model` packs nothing."""
_NOT_OURS = "is not a model written by sklearn-rank train"
_OURS = re.compile(
    r"sklearn_rank\.(bins|engines|estimators|metrics|models|objectives|pair_sums|rows|scorecard"
    r"|solvers|weak_rankers)\.[\w.]+"
)
_FOREIGN = frozenset({"numpy.dtype", "skrub._to_str.ToStr"})
_FOREIGN |= {f"skrub._{name.lower()}_encoder.{name}Encoder" for name in ("String", "Datetime")}
"""Types that skops does not trust by itself, and that models of `train` hold."""


@dataclass(frozen=True)
class Model:
    """A fitted pipeline, the name of its ranker and the table it was fitted on."""

    pipeline: Pipeline
    ranker: str
    schema: Schema
    calibration: dict[str, Any] | None = None
    """Scores of held-out negatives, and the number of held-out rows."""


def save_model(model: Model, output: Output) -> None:
    """Store a model."""
    content = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "version": sklearn_rank.__version__,
        "ranker": model.ranker,
        "schema": asdict(model.schema),
        "pipeline": model.pipeline,
        "calibration": model.calibration,
    }
    skops_io = import_extra("skops.io")
    with output.writing() as temporary:
        skops_io.dump(content, temporary)


def load_model(name: str, notes: list[str]) -> Model:
    """Load a model that `save_model` stored; any other file is an error, and is not loaded."""
    path = Path(name)
    if path.suffix == ".json":
        pipeline, schema = load_card(name)
        return Model(pipeline, "Scorecard", schema)
    skops_io = import_extra("skops.io")
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path}: {_NOT_OURS}")
    _check_size(path)
    try:
        untrusted = skops_io.get_untrusted_types(file=path)
    except Exception as error:  # a damaged file can raise anything
        raise InputError(f"{path}: {_NOT_OURS}") from error
    foreign = [type_name for type_name in untrusted if not _is_trusted(type_name)]
    if foreign:
        raise InputError(f"{path}: refused, since no model holds these types: {listing(foreign)}")
    with noting(notes, f"{path}: the model cannot be loaded", (Exception,)):
        content = skops_io.load(path, trusted=untrusted)
    return _as_model(content, path)


def _check_size(path: Path) -> None:
    """Raise InputError for an archive that unpacks to far more than it takes on the disk."""
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(one.file_size for one in archive.infolist())
    except Exception as error:  # a damaged file can raise anything
        raise InputError(f"{path}: {_NOT_OURS}") from error
    if unpacked > _MOST_UNPACKED * path.stat().st_size:
        raise InputError(f"{path}: refused, since it would unpack to {unpacked} bytes")


def _as_model(content: Any, path: Path) -> Model:
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InputError(f"{path}: {_NOT_OURS}")
    other = (
        f"{path}: was written by sklearn-rank {content.get('version')}, of whose models this "
        "version reads those without categories; train again"
    )
    if content.get("format_version") not in (1, _FORMAT_VERSION):
        raise InputError(other)
    try:
        model = _checked_model(content)
    except Exception as error:  # whatever its parts raise in place of what they must be
        raise InputError(f"{path}: the model is damaged ({error})") from error
    if content["format_version"] == 1 and set(model.schema.kinds.values()) != {NUMBER}:
        raise InputError(other)
    try:
        getattr(model.pipeline[-1], "booster_", None)  # trees are read by their engine
    except Exception as error:  # no engine, or bytes that it can't read
        raise InputError(f"{path}: the model cannot be loaded ({error})") from error
    return model


def _checked_model(content: dict[str, Any]) -> Model:
    """Return the model of a file's content; an error says which part is not what it must be."""
    pipeline, ranker, schema = content["pipeline"], content["ranker"], Schema(**content["schema"])
    of_file = type(pipeline[-1]).__name__ if type(pipeline) is Pipeline else type(pipeline).__name__
    if of_file != ranker or ranker not in sklearn_rank.__all__:
        raise ValueError(f"it holds {of_file}, where {ranker!r} must be")
    check_schema(schema)
    calibration = content.get("calibration")
    if calibration is not None:
        negatives = np.asarray(calibration["negatives"], dtype=np.float64)
        if np.isnan(negatives).any() or calibration["n_rows"] < len(negatives):
            raise ValueError("its calibration rows are not numbers")
    return Model(pipeline, ranker, schema, calibration)


def model_scores(model: Model, X: Any, name: str) -> Floats:
    """Return the scores of the rows by a model that was loaded from the file `name`."""
    try:
        return scores_of(model.pipeline, X)
    except Exception as error:  # its arrays may be anything
        what = f"{type(error).__name__}: {error}"
        raise InputError(
            f"{name}: the model is damaged; it can't score the rows ({what})"
        ) from error


def _is_trusted(type_name: str) -> bool:
    """Whether models hold the type: a class of this package, or one of a few others."""
    if not _OURS.fullmatch(type_name):
        return type_name in _FOREIGN
    module, _, name = type_name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return False
    return inspect.isclass(found) and found.__module__.startswith("sklearn_rank.")
