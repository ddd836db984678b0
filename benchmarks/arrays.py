"""A pair loss and its gradient in the memory of other libraries, on the CPU and on a GPU.

    python benchmarks/arrays.py                      # 1e4 to 1e7 scores
    python benchmarks/arrays.py --rows 10000 100000  # a quick look

The scores lie where the library keeps them, and so does the gradient. A library or a GPU that is
not there is left out. The libraries take turns, and every result is compared with NumPy's.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from _harness import describe_machine, take_turns
from _report import Cell, Report, Table, Verdict

from sklearn_rank.objectives import pair_loss_and_gradient

ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
LOSSES = ("logistic", "exponential", "least_squares")
POSITIVE = 0.1
DIFFERENCE = 1e-10
"""Of the number of pairs: by how much a gradient may differ from NumPy's."""

Place = tuple[Callable[[np.ndarray], Any], Callable[[Any], np.ndarray]]
"""Functions that bring an array there and back."""


def places() -> tuple[dict[str, Place], str]:
    """Return the libraries and devices that are there, and the name of the GPU."""
    found: dict[str, Place] = {"NumPy": (np.asarray, np.asarray)}
    device = "none"
    try:
        import torch
    except ImportError:
        return found, device
    found["PyTorch, CPU"] = torch.asarray, lambda array: array.numpy()
    if torch.cuda.is_available():
        device = torch.cuda.get_device_name()
        found["PyTorch, GPU"] = (
            lambda values: torch.asarray(values, device="cuda"),
            lambda array: array.cpu().numpy(),
        )
        try:
            import cupy
        except ImportError:
            return found, device
        found["CuPy, GPU"] = cupy.asarray, cupy.asnumpy
    return found, device


def measure(rows: int, repeats: int, there: dict[str, Place]) -> dict[str, dict[str, Any]]:
    """Return the seconds of each loss in each place, and how far results are from NumPy's."""
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < POSITIVE).astype(float)
    scores, pairs = rng.normal(y), y.sum() * (1.0 - y).sum()
    arrays = {name: (to(y), to(scores)) for name, (to, _) in there.items()}
    found: dict[str, dict[str, Any]] = {name: {} for name in there}
    for loss in LOSSES:

        def call(name: str, loss: str = loss) -> tuple[float, Any]:
            return pair_loss_and_gradient(*arrays[name], loss=loss)

        expected = call("NumPy")
        seconds = take_turns({name: lambda name=name: call(name) for name in there}, repeats)
        for name, (_, back) in there.items():
            value, gradient = call(name)
            off = max(abs(value - expected[0]), float(np.abs(back(gradient) - expected[1]).max()))
            found[name][loss] = {"seconds": seconds[name], "off": off / max(pairs, expected[0])}
    return found


def report_of(runs: dict[int, dict[str, dict[str, Any]]], device: str, repeats: int) -> Report:
    """Return a table of milliseconds for each loss, and how far results were from NumPy's."""
    names = list(next(iter(runs.values())))
    tables = []
    for loss in LOSSES:
        rows: list[list[Cell]] = [
            [f"{n:,}", *(1e3 * median(found[name][loss]["seconds"]) for name in names)]
            for n, found in runs.items()
        ]
        tables.append(Table(f"Milliseconds, {loss}", ["rows", *names], rows))
    every = [one for found in runs.values() for by in found.values() for one in by.values()]
    off = max(one["off"] for one in every)
    return Report(
        "arrays",
        f"GPU: {device}. Medians of {repeats} calls in turns; one row in ten positive, normal "
        "scores.",
        describe_machine("torch", "cupy-cuda13x", "array-api-compat"),
        tables,
        [Verdict("largest difference from NumPy, of all pairs", DIFFERENCE, off)],
        runs={str(n): found for n, found in runs.items()},
    )


def main() -> None:
    """Measure each number of rows and publish the report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the report there as well")
    options = parser.parse_args()
    there, device = places()
    runs = {n: measure(n, options.repeats, there) for n in options.rows}
    report_of(runs, device, options.repeats).publish(options.json)


if __name__ == "__main__":
    main()
