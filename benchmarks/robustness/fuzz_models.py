"""Damaged, swapped and planted model files through ``rank``: a result, or one line; nothing runs.

From the folder `benchmarks`:

    python -m robustness.fuzz_models --json ../docs/benchmarks/fuzz_models.json
    python -m robustness.fuzz_models --quick

Parts: bytes of the files damaged; the description inside the archive changed, with checksums that
fit, and members of other models put in; callables planted; cards (JSON) damaged.
"""

import io
import json
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from robustness._files import good_frame
from robustness._fuzzing import Part, damaged, main
from robustness.fuzz_readers import called

RANKERS = {
    "PNormPushRanker": ("n_estimators=3",),
    "ListNetLinear": ("max_iter=2",),
    "KernelPairwiseSGDRanker": ("max_iter=2",),
    "BoostedTreesRanker": ("n_estimators=3", "engine=lightgbm"),
    "BoostedTreesRanker of XGBoost": ("n_estimators=3", "engine=xgboost"),
    "BoostedTreesRanker of symmetric trees": ("n_estimators=3", "engine=symmetric"),
}
"""Parameters of the models, by name."""
_VALUES = (None, -1, 0, 10**12, 1e308, "", "x", [], {}, True, ["a"], {"a": 1}, float("nan"))


@cache
def good_models() -> tuple[dict[str, bytes], bytes]:
    """Return model files by name and a card, fitted by the commands, and the rows."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        data = folder / "t.csv"
        good_frame(60, 1).to_csv(data, index=False)
        models = {}
        for name, parameters in RANKERS.items():
            path = folder / f"{name}.skops"
            words = ["train", str(data), "--target", "y", "--ranker", name.partition(" ")[0]]
            words += [word for one in parameters for word in ("--param", one)]
            assert called([*words, "-o", str(path)]) == ""
            models[name] = path.read_bytes()
        card = folder / "card.json"
        words = ["card", str(data), "--target", "y", "--drop", "day", "--param", "n_estimators=9"]
        assert called([*words, "-o", str(card)]) == ""
        return {**models, "card": card.read_bytes()}, data.read_bytes()


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _archive(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _nodes(tree: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of every value below the root."""
    found, pending = [], [tree]
    while pending:
        one = pending.pop()
        keys = one if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            found.append((one, key))
            pending.append(one[key])
    return found


def _changed(tree: Any, other: Any, rng: np.random.Generator) -> Any:
    """Return a tree with one to three values removed, replaced, or swapped with another tree's."""
    for _ in range(int(rng.integers(1, 4))):
        places, others = _nodes(tree), _nodes(other)
        if not places:
            break
        (where, key), (there, its) = (one[int(rng.integers(len(one)))] for one in (places, others))
        match rng.integers(4):
            case 0:
                del where[key]
            case 1:
                where[key] = _VALUES[int(rng.integers(len(_VALUES)))]
            case 2:
                where[key] = there[its]
            case _:
                again, its = places[int(rng.integers(len(places)))]
                where[key] = json.loads(json.dumps(again[its]))
    return tree


def _ranking(folder: Path, content: bytes, suffix: str = ".skops", marker: Path | None = None):
    model, data = folder / f"m{suffix}", folder / "t.csv"
    model.write_bytes(content)
    data.write_bytes(good_models()[1])

    def call() -> str:
        words = ["rank", str(model), str(data), "-o", str(folder / "ranked.csv"), "--explain"]
        line = called(words)
        if marker is not None and marker.exists():
            raise AssertionError("code of the file has run")
        return line

    return call, len(content) + data.stat().st_size


def _two_models(rng: np.random.Generator) -> tuple[bytes, bytes]:
    models = good_models()[0]
    names = [list(RANKERS)[i] for i in rng.integers(len(RANKERS), size=2)]
    return models[names[0]], models[names[1]]


def bytes_case(rng: np.random.Generator, folder: Path):
    """Rank by a model file of which bytes are damaged."""
    return _ranking(folder, damaged(_two_models(rng)[0], rng))


def contents_case(rng: np.random.Generator, folder: Path):
    """Rank by a valid archive whose description or arrays are changed, or another model's."""
    one, other = map(_members, _two_models(rng))
    if rng.random() < 0.7:
        tree = _changed(json.loads(one["schema.json"]), json.loads(other["schema.json"]), rng)
        one["schema.json"] = json.dumps(tree).encode()
        one = other | one
    else:
        arrays, theirs = ([n for n in two if n != "schema.json"] for two in (one, other))
        name = arrays[int(rng.integers(len(arrays)))]
        its = other[theirs[int(rng.integers(len(theirs)))]]
        one[name] = its if rng.random() < 0.5 else damaged(one[name], rng, its)
    return _ranking(folder, _archive(one))


def planted_node(kind: int, marker: Path) -> dict[str, Any]:
    """Return a node that makes `marker` when it is built or called."""
    text = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}

    def words(*of: Any) -> dict[str, Any]:
        content = [{**text, "content": json.dumps(one), "is_json": True} for one in of]
        node = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
        return {**node, "content": content}

    def node(module: str, name: str, loader: str, **more: Any) -> dict[str, Any]:
        return {"__class__": name, "__module__": module, "__loader__": loader, **more}

    reduce, path = "ConstructorFromReduceNode", str(marker)
    keys = node("builtins", "list", "ListNode", content=[])
    empty = node("builtins", "dict", "DictNode", content={}, key_types=keys)
    system = node("os", "system", "FunctionNode")
    call = {"func": system, "args": words(f"touch {path}"), "kwds": empty, "namespace": empty}
    kinds = [
        node("os", "system", reduce, content=words(f"touch {path}")),
        node("posix", "system", reduce, content=words(f"touch {path}")),
        node("numpy", "memmap", reduce, content=words(path, "uint8", "w+", 0, 8)),
        node("numpy", "fromfile", reduce, content=words(path)),
        node("pathlib", "Path.touch", reduce, content=words(path)),
        node("builtins", "open", reduce, content=words(path, "w")),
        node("functools", "partial", "PartialNode", content=call),
        node("numpy.f2py.__main__", "main", "TypeNode"),
        node("sklearn_rank.cli.__main__", "main", "TypeNode"),
        node("operator", "methodcaller", "OperatorFuncNode", attrs=words("touch")),
        node("sklearn_rank.cli._store", "Path", reduce, content=words(path)),
        system,
    ]
    return kinds[kind % len(kinds)]


def planted_case(rng: np.random.Generator, folder: Path):
    """Rank by a model with a callable in place of any of its parts."""
    members, marker = _members(_two_models(rng)[0]), folder / "marker"
    tree = json.loads(members["schema.json"])
    places = [(one, key) for one, key in _nodes(tree) if isinstance(one[key], dict)]
    places = [(one, key) for one, key in places if "__loader__" in one[key]]
    where, key = places[int(rng.integers(len(places)))]
    where[key] = planted_node(int(rng.integers(12)), marker)
    members["schema.json"] = json.dumps(tree).encode()
    return _ranking(folder, _archive(members), marker=marker)


def cards_case(rng: np.random.Generator, folder: Path):
    """Rank by a card whose text or values are changed."""
    card = good_models()[0]["card"]
    if rng.random() < 0.4:
        return _ranking(folder, damaged(card, rng, card[200:]), ".json")
    tree = json.loads(card)
    inner = json.loads(tree["details"]["table"])
    if rng.random() < 0.4:
        tree["details"]["table"] = json.dumps(_changed(inner, json.loads(card), rng))
    else:
        tree = _changed(tree, json.loads(card), rng)
    return _ranking(folder, json.dumps(tree).encode(), ".json")


PARTS = {
    "bytes": Part(bytes_case, 40, 4_000, 200),
    "contents": Part(contents_case, 40, 4_000, 200),
    "planted": Part(planted_case, 40, 1_000, 100),
    "cards": Part(cards_case, 40, 3_000, 200),
}

if __name__ == "__main__":
    main("fuzz_models", "Model files through rank.", PARTS, good_models)
