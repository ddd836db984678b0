"""Make docs/benchmarks.md of the reports that the benchmarks have written with --json.

    python benchmarks/make_page.py            # of the reports in docs/benchmarks/

The folder holds one JSON file for each report, and the pictures. What falls short comes first.
"""

import argparse
from pathlib import Path

from _report import Report, Table, table_in_pipes, targets_table

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"

SECTIONS = {
    "peers_generated": "Beside other libraries: one list, generated rows",
    "peers_magic_trees": "Beside other libraries: MAGIC, and trees of depth 3",
    "peers_search": "Beside other libraries: quality after a search",
    "peers_letor": "Beside other libraries: queries",
    "trees_speed": "Objectives in the trees of XGBoost and LightGBM: time",
    "trees_lists": "Objectives in the trees of XGBoost and LightGBM: one list",
    "trees_queries": "Objectives in the trees of XGBoost and LightGBM: queries",
    "scorecards": "Scorecards beside those of other libraries",
    "paper_tables": "Tables of Rudin (2009)",
    "limited_classes": "What p does to small and large models",
    "bench_boosting": "Boosting with every loss and push",
    "bench_pairs": "Sums over all pairs",
    "bench_kernel": "Kernel ranking and linear rankers",
    "bench_listnet": "Linear ListNet",
    "bench_metrics": "Metrics",
    "scaling": "Growth with the rows",
}
"""The file of each report, in the order of the page, and its heading."""

PICTURES = {
    "limited_classes": {
        "limited_classes": "What p adds to the top, against the number of stumps, on each data set"
    },
    "paper_tables": {
        "figure_5_magic": "ROC curves on MAGIC, whole and left end, for p = 1, 4, 64 and IR",
        "figure_6_ionosphere": "ROC curves on Ionosphere, whole and left end, for the same p",
        "figure_7_housing": "ROC curves on Boston housing, whole and left end, for the same p",
    },
    "scaling": {
        "scaling": "Time over rows on logarithmic axes, in small panels with lines of slope 1"
    },
}

EVIDENCE = (
    "RankBoost",
    "PNormPushRanker p=4",
    "PNormPushRanker p=64",
    "KernelPairwiseSGDRanker linear",
    "KernelPairwiseSGDRanker rbf",
    "XGBoost binary",
    "LightGBM binary",
    "HistGradientBoosting",
    "LogisticRegression",
)
"""Systems in the table of the page on choosing a ranker."""

INTRODUCTION = """# Benchmarks

This page is made by `benchmarks/make_page.py` from what the scripts in `benchmarks/` have measured;
`benchmarks/README.md` says what each does and how. Times belong to the machine named below each
section: compare ratios, and run the scripts on yours. A target is a figure that was set before it
was measured; all are printed, reached or not.
"""


def short_falls(reports: dict[str, Report]) -> str:
    """Return the section on what was not reached."""
    rows = []
    n_targets = 0
    for name, report in reports.items():
        n_targets += len(report.verdicts)
        for (label, limit, measured, words), verdict in zip(
            targets_table(report.verdicts).rows, report.verdicts, strict=True
        ):
            if verdict.words != "reached":
                rows.append([SECTIONS[name], label, limit, measured, words])
    table = Table("", ["section", "target", "limit", "measured", ""], rows)
    count = f"{n_targets - len(rows)} of {n_targets} targets are reached. The others:"
    return f"## What falls short\n\n{count}\n\n{table_in_pipes(table)}"


def section(name: str, report: Report) -> str:
    """Return the section of one report."""
    pictures = [
        f"![{text}.](benchmarks/{picture}.png)"
        for picture, text in PICTURES.get(name, {}).items()
        if (FOLDER / f"{picture}.png").exists()
    ]
    return "\n\n".join([f"## {SECTIONS[name]}", report.markdown(), *pictures])


def evidence(report: Report) -> str:
    """Return a short table for the page on choosing a ranker."""
    found = next(table for table in report.tables if table.title.startswith("MAGIC, "))
    columns = [found.columns.index(name) for name in ("system", "AUC", "top", "fit s")]
    rows = [[row[n] for n in columns] for row in found.rows if row[0] in EVIDENCE]
    heads = ["system", "AUC", "top", "fit, seconds"]
    return table_in_pipes(Table("", heads, rows)) + f"\n\n{found.title}.\n"


def powers(report: Report) -> str:
    """Return what p does to boosted trees and to a linear model, for the pages that say so."""
    found = next(table for table in report.tables if table.title.startswith("What p does"))
    engine = found.title.rpartition(", ")[2]
    return table_in_pipes(found) + f"\n\nTrees of {engine}. {report.settings}\n"


def sizes(report: Report) -> str:
    """Return what p does to models of different sizes, all data sets in one table."""
    rows = [[found.title, *row] for found in report.tables for row in found.rows]
    joined = Table("", ["data", *report.tables[0].columns], rows)
    return table_in_pipes(joined) + f"\n\n{report.settings}\n"


EXCERPTS = {
    "choosing.md": ("peers_magic_trees", evidence),
    "trees_p.md": ("trees_lists", powers),
    "limited_classes_table.md": ("limited_classes", sizes),
}
"""Tables that other pages take: the file, the report it is from, and what makes it."""


def main() -> None:
    """Write the page, and the tables that other pages take from it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output", type=Path, default=FOLDER.with_suffix(".md"), help="default: docs/benchmarks.md"
    )
    options = parser.parse_args()
    files = {name: FOLDER / f"{name}.json" for name in SECTIONS}
    reports = {name: Report.load(path) for name, path in files.items() if path.exists()}
    absent = [SECTIONS[name] for name in files if name not in reports]
    parts = [INTRODUCTION]
    if absent:
        parts.append(f"There is no report of: {'; '.join(absent)}.")
    parts.append(short_falls(reports))
    parts += [section(name, report) for name, report in reports.items()]
    options.output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(options.output)
    for name, (report, text_of) in EXCERPTS.items():
        if report in reports:
            path = FOLDER / name
            path.write_text(text_of(reports[report]), encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
