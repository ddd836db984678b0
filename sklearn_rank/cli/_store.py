"""Model files: a fitted pipeline and the schema of its table, stored by skops."""

from __future__ import annotations

import importlib
import inspect
import warnings
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

import sklearn_rank
from sklearn_rank.cli._cards import load_card
from sklearn_rank.cli._columns import NUMBER, Schema
from sklearn_rank.cli._errors import InputError, import_extra, listing
from sklearn_rank.cli._output import write_atomically

MODEL_SUFFIXES = (".skops",)
_FORMAT = "sklearn-rank model"
_FORMAT_VERSION = 2
_TRUSTED_PACKAGES = ("sklearn_rank.", "sklearn.", "numpy.", "skrub.")


@dataclass(frozen=True)
class Model:
    """A fitted pipeline, the name of its ranker and the table it was fitted on."""

    pipeline: Pipeline
    ranker: str
    schema: Schema
    calibration: dict[str, Any] | None = None
    """Scores of held-out negatives, and the number of held-out rows."""


def save_model(model: Model, path: Path, *, force: bool) -> None:
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
    with write_atomically(path, force=force) as temporary:
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
        raise InputError(f"{path}: is not a model written by sklearn-rank train")
    try:
        untrusted = skops_io.get_untrusted_types(file=path)
    except (KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: is not a model written by sklearn-rank train") from error
    foreign = [type_name for type_name in untrusted if not _is_trusted(type_name)]
    if foreign:
        raise InputError(
            f"{path}: refused, since it holds types that are not of sklearn_rank, "
            f"scikit-learn, skrub or NumPy: {listing(foreign)}"
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            content = skops_io.load(path, trusted=untrusted)
        except Exception as error:  # a damaged file can raise anything
            raise InputError(f"{path}: the model cannot be loaded ({error})") from error
    notes += [str(warning.message).partition("\n")[0] for warning in caught]
    return _as_model(content, path)


def _as_model(content: Any, path: Path) -> Model:
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InputError(f"{path}: is not a model written by sklearn-rank train")
    is_plain = content["format_version"] == 1 and set(content["schema"]["kinds"].values()) == {
        NUMBER
    }
    if content["format_version"] != _FORMAT_VERSION and not is_plain:
        raise InputError(
            f"{path}: was written by sklearn-rank {content['version']}, of whose models this "
            "version reads those without categories; train again"
        )
    pipeline = content["pipeline"]
    try:
        getattr(pipeline[-1], "booster_", None)  # trees are read by their engine
    except Exception as error:  # no engine, or bytes that it can't read
        raise InputError(f"{path}: the model cannot be loaded ({error})") from error
    schema = Schema(**content["schema"])
    return Model(pipeline, content["ranker"], schema, content.get("calibration"))


def _is_trusted(type_name: str) -> bool:
    """Whether a type is a class of the four packages; their functions are not trusted."""
    if not type_name.startswith(_TRUSTED_PACKAGES):
        return False
    module, _, name = type_name.rpartition(".")
    try:
        return inspect.isclass(getattr(importlib.import_module(module), name, None))
    except ImportError:
        return False
