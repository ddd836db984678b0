"""Model files: a fitted pipeline and the schema of its table, saved by skops."""

from __future__ import annotations

import inspect
import pkgutil
import re
import zipfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

import sklearn_rank
from sklearn_rank._core.protocols import Floats
from sklearn_rank.cli._output import Output
from sklearn_rank.cli._tables.columns import Schema
from sklearn_rank.cli._tables.inputs import InputError, import_extra, listing, noting
from sklearn_rank.metrics.scorers import scores_of

_FORMAT, _FORMAT_VERSION = "sklearn-rank model", 3
_MOST_UNPACKED = 100
"""Bytes that a byte of a file may unpack to; `save_model` packs nothing."""

_OURS = re.compile(
    r"sklearn_rank\.(_bins|_core|_pair_sums|engines|ensemble|estimators|metrics|models|objectives"
    r"|scorecard|solvers)\.[\w.]+"
)
_FOREIGN = frozenset({"numpy.dtype", "skrub._to_str.ToStr", "collections.OrderedDict"})
_FOREIGN |= {f"skrub._{name.lower()}_encoder.{name}Encoder" for name in ("String", "Datetime")}
_FOREIGN |= {f"lightgbm.sklearn.LGBM{kind}" for kind in ("Classifier", "Regressor")}
_FOREIGN |= {f"catboost.core.CatBoost{kind}" for kind in ("Classifier", "Regressor")}
_FOREIGN |= {"lightgbm.basic.Booster", "functools.partial", "sklearn.tree._tree.Tree"}
_FOREIGN |= {"sklearn.utils.validation.check_array"}
_FOREIGN |= {"sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"}
"""Types in models of `train` that skops does not trust by default."""


@dataclass(frozen=True)
class StoredModel:
    """A fitted pipeline, the name of its ranker and the table it was fitted on."""

    pipeline: Pipeline
    ranker: str
    schema: Schema


def save_model(model: StoredModel, output: Output) -> None:
    """Save a model."""
    content = {"format": _FORMAT, "format_version": _FORMAT_VERSION, **vars(model)}
    content |= {"version": sklearn_rank.__version__, "schema": asdict(model.schema)}
    with output.writing() as temporary:
        import_extra("skops.io").dump(content, temporary)


def load_model(name: str, notes: list[str]) -> StoredModel:
    """Load a model saved by `save_model`; any other file is an error, and is not loaded."""
    path = Path(name)
    if path.suffix == ".json":
        from sklearn_rank.cli._cards import load_card

        return StoredModel(*load_card(name))
    skops_io = import_extra("skops.io")
    not_ours = f"{path}: is not a model written by sklearn-rank train"
    # A damaged file can raise anything, and so can its parts in place of what they must be.
    with noting([], not_ours, (Exception,)):
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(file.file_size for file in archive.infolist())
        if unpacked > _MOST_UNPACKED * path.stat().st_size:
            raise InputError(f"{path}: refused: it would unpack to {unpacked} bytes")
        untrusted = skops_io.get_untrusted_types(file=path)
    foreign = [type_name for type_name in untrusted if not _is_trusted(type_name)]
    if foreign:
        what = "refused: the file contains types that no sklearn-rank model uses:"
        raise InputError(f"{path}: {what} {listing(foreign)}")
    with noting(notes, f"{path}: the model cannot be loaded", (Exception,)):
        content = skops_io.load(path, trusted=untrusted)
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise InputError(not_ours)
        if content.get("format_version") != _FORMAT_VERSION:
            version = content.get("version")
            raise InputError(f"{path}: was written by sklearn-rank {version}; train again")
        schema = Schema(**content["schema"])
        model = StoredModel(content["pipeline"], str(content["ranker"]), schema)
        getattr(model.pipeline.steps[-1][1], "booster_", None)  # trees are read by their engine
    return model


def model_scores(model: StoredModel, X: Any, name: str, notes: list[str]) -> Floats:
    """Return the scores of the rows by a model that was loaded from the file `name`."""
    with noting(notes, f"{name}: can't score the rows", (Exception,)):  # its arrays may be anything
        return scores_of(model.pipeline, X)


def _is_trusted(type_name: str) -> bool:
    """Whether models may contain the type: a class of this package, or one of a few others."""
    if _OURS.fullmatch(type_name):
        with suppress(ImportError, AttributeError, ValueError):  # ValueError: it ends in a point
            kind = pkgutil.resolve_name(type_name)
            return inspect.isclass(kind) and kind.__module__.startswith("sklearn_rank.")
    return type_name in _FOREIGN
