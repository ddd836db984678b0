"""Write what version 0.1.0 stored: pickles, `.skops` models, and the scores they gave.

Run once with sklearn_rank 0.1.0 installed: ``python tests/data_0_1_0/make_old_files.py``. The
tests load the files with the present version. Everything is random numbers with a seed.
"""

import json
import pickle
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import sklearn
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

import sklearn_rank
from sklearn_rank import (
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
    SmoothMarginRanker,
)
from sklearn_rank.cli import main
from sklearn_rank.metrics import ranking_scorer
from sklearn_rank.model_selection import QueryKFold, QueryShuffleSplit
from sklearn_rank.preprocessing import QueryMinMaxScaler

HERE = Path(__file__).parent
FEW = {"n_estimators": 6, "random_state": 0}
SHORT = {"max_iter": 8, "random_state": 0}

BOOSTERS = {
    "rank_boost_stump": RankBoost(**FEW),
    "rank_boost_feature": RankBoost(**FEW, weak_ranker="feature"),
    "rank_boost_ridge": RankBoost(**FEW, weak_ranker=Ridge()),
    "rank_boost_tree": RankBoost(**FEW, weak_ranker=DecisionTreeRegressor(max_depth=2)),
    "rank_boost_missing": RankBoost(**FEW, max_bins=8),
    "rank_boost_graded": RankBoost(**FEW, relevance="graded"),
    "rank_boost_stopped": RankBoost(
        **FEW, n_iter_no_change=3, validation_fraction=0.3, scoring=ranking_scorer("ndcg@5")
    ),
    "p_norm_push": PNormPushRanker(**FEW, p=8, score_p=8),
    "p_norm_push_lbfgs": PNormPushRanker(**FEW, solver="lbfgs", alpha=0.1),
    "p_norm_push_feature_lbfgs": PNormPushRanker(
        **FEW, solver="lbfgs", alpha=0.1, weak_ranker="feature", relevance="graded"
    ),
    "smooth_margin": SmoothMarginRanker(**FEW),
}
OTHERS = {
    "kernel_rbf": KernelPairwiseSGDRanker(**SHORT),
    "kernel_average": KernelPairwiseSGDRanker(**SHORT, average=True, batch_size=10),
    "kernel_linear": KernelPairwiseSGDRanker(**SHORT, kernel="linear", relevance="graded"),
    "kernel_precomputed": KernelPairwiseSGDRanker(**SHORT, kernel="precomputed"),
    "kernel_lbfgs": KernelPairwiseSGDRanker(**SHORT, solver="lbfgs"),
    "list_net_lbfgs": ListNetLinear(**SHORT),
    "list_net_ogd": ListNetLinear(**SHORT, solver="ogd", eta0=0.1),
    "list_net_binary": ListNetLinear(**SHORT, relevance="binary"),
}
PLAIN = {
    "scorer": ranking_scorer("ndcg@10"),
    "query_k_fold": QueryKFold(3, shuffle=True, random_state=0),
    "query_shuffle_split": QueryShuffleSplit(3, test_size=0.3, random_state=0),
}
COMMANDS = {
    "cli_stump": "--target upper --drop grade --param n_estimators=6",
    "cli_queries": "--target grade --drop upper --qid query --relevance graded "
    "--ranker ListNetLinear --param max_iter=8",
    "cli_kernel": "--target upper --drop grade --ranker KernelPairwiseSGDRanker --param max_iter=8",
}


def make_data():
    """Return rows whose relevance follows a threshold and a line, some values missing."""
    random = np.random.RandomState(0)
    X = random.normal(size=(30, 3)).round(2)
    signal = X[:, 0] + 2.0 * (X[:, 1] > 0) + random.normal(size=30) / 2
    grade = np.digitize(signal, np.quantile(signal, [0.4, 0.8]))
    missing = np.where(random.random_sample(X.shape) < 0.1, np.nan, X)
    query = random.randint(0, 4, 30)
    return {"X": X, "missing": missing, "grade": grade, "upper": grade > 0, "query": query}


def features(name, data):
    """Return the features that a model is for."""
    if name == "kernel_precomputed":
        return rbf_kernel(data["X"], gamma=0.3)
    return data["missing" if name == "rank_boost_missing" else "X"]


def fit(name, ranker, data):
    """Fit a ranker to the data it is for."""
    graded = ranker.relevance == "graded"
    X, y = features(name, data), data["grade" if graded else "upper"]
    return ranker.fit(X, y, qid=data["query"] if graded else None)


def scores(ranker, X):
    """Return scores as a list."""
    graded = ranker.relevance == "graded"
    return (ranker.predict(X) if graded else ranker.decision_function(X)).tolist()


def longer(ranker):
    """Let the next fit go on for as long as the first."""
    size = {"n_estimators": 12} if hasattr(ranker, "n_estimators") else {}
    return ranker.set_params(warm_start=True, **size)


def table(data):
    """Return the data as the text of a CSV file."""
    lines = ["a,b,c,upper,grade,query"]
    for x, upper, grade, query in zip(
        data["X"], data["upper"], data["grade"], data["query"], strict=True
    ):
        lines.append(",".join(map(str, [*x.tolist(), "ny"[int(upper)], grade, query])))
    return "\n".join(lines) + "\n"


def write_pickles(archive, data, expected):
    """Store every ranker, its scores, and those after a warm start."""
    for name, ranker in {**BOOSTERS, **OTHERS}.items():
        archive.writestr(f"{name}.pickle", pickle.dumps(fit(name, ranker, data), protocol=4))
        X = features(name, data)
        expected[name] = {"scores": scores(ranker, X)}
        expected[name]["continued"] = scores(fit(name, longer(ranker), data), X)
    for name, thing in PLAIN.items():
        archive.writestr(f"{name}.pickle", pickle.dumps(thing, protocol=4))
    scaler = QueryMinMaxScaler().fit(data["X"])
    archive.writestr("scaler.pickle", pickle.dumps(scaler, protocol=4))
    expected["scaler"] = {"scores": scaler.transform(data["X"]).tolist()}
    pipeline = make_pipeline(QueryMinMaxScaler(), RankBoost(**FEW)).fit(data["X"], data["upper"])
    archive.writestr("pipeline.pickle", pickle.dumps(pipeline, protocol=4))
    expected["pipeline"] = {"scores": pipeline.decision_function(data["X"]).tolist()}


def write_models(archive, data, expected):
    """Store what the command line writes, and the scores it ranks by."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.csv"
        rows.write_text(table(data), encoding="utf-8")
        for name, options in COMMANDS.items():
            model, ranked = Path(folder) / f"{name}.skops", Path(folder) / f"{name}.csv"
            assert main(["train", str(rows), *options.split(), "-o", str(model)]) == 0
            assert main(["rank", str(model), str(rows), "-o", str(ranked)]) == 0
            archive.write(model, model.name)
            expected[name] = {"ranked": ranked.read_text(encoding="utf-8")}


def run():
    """Write one archive."""
    assert sklearn_rank.__version__ == "0.1.0"
    warnings.simplefilter("ignore")
    data, expected = make_data(), {"versions": {"scikit-learn": sklearn.__version__}}
    with zipfile.ZipFile(HERE / "old_files.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        write_pickles(archive, data, expected)
        write_models(archive, data, expected)
        archive.writestr("expected.json", json.dumps(expected))
        archive.writestr("rows.csv", table(data))


if __name__ == "__main__":
    run()
