"""Make docs/benchmarks.md of the reports that the benchmarks have written with --json.

    python benchmarks/make_page.py            # of the reports in docs/benchmarks/

The folder holds one JSON file for each report, and the pictures. The page begins with the summary
in this file, and ends with the targets.
"""

import argparse
from pathlib import Path

from _report import Cell, Report, Table, shown, table_in_pipes, targets_table

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"

SECTIONS = {
    "as_they_come": "Rankers and classifiers as they come",
    "compare_first": "What compare puts first",
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
    "cluster": "A Dask cluster of two workers beside one process",
}
"""The file of each report, in the order of the page, and its heading."""

PICTURES = {
    "limited_classes": {
        "limited_classes": "What p adds to the top, against the number of stumps, on each data set"
    },
    "paper_tables": {
        "figures_1_and_4": "Shares of pairs in the push for p = 1 to 64 and in the IR push: the "
        "larger p, the more the negative on top has",
        "figures_3_and_8": "Three discounts against the rank, and both bounds of Lemma 7",
        "figure_5_magic": "ROC curves on MAGIC in counts: training and test rows, whole and left "
        "end",
        "figure_6_ionosphere": "ROC curves on Ionosphere, the same panels, of one fold",
        "figure_7_housing": "ROC curves on Boston housing, the same panels, of one fold",
    },
    "scaling": {
        "scaling": "Time over rows on logarithmic axes, in small panels with lines of slope 1"
    },
}

INTRODUCTION = """# Benchmarks

![Where we win and where we lose: for four data sets, how many points more of the positives each
model finds before 5 % of the negatives than HistGradientBoosting, with 95 % intervals. On
make_credit the boosters of stumps lie 1 to 4 points to the right; on MAGIC they lie 13 points to
the left, and the boosted trees at zero.](benchmarks/as_they_come.png)

**Where we win, where we lose.** With the defaults of each library, `PNormPushRanker` finds 3 to 4
points more of the bad payers than scikit-learn's HistGradientBoosting before 5 % of the good
ones, on generated loan applications where the features mostly add up and the positives are rare.
On MAGIC, where features interact and half a data set is 9,510 rows, stumps lose by 13 points;
`BoostedTreesRanker` is level with the default and ahead by half a point with the settings of
the command line. On the two small tables the kernel ranker is the best of ours, and logistic
regression is the best of all on breast cancer. Over the whole list
(AUC), after an equal search, boosted rankers and boosted classifiers of the same depth differ in
the third decimal. A fit over all pairs costs about as much as a classifier's: what is counted are
rows, not pairs. The targets that were set before measuring, reached or not, are [at the
end](#targets).

This page is made by `benchmarks/make_page.py` from what the scripts in `benchmarks/` have
measured; `benchmarks/README.md` says what each does and how. Times belong to the machine named
below each section: compare ratios, and run the scripts on yours.
"""


def targets(reports: dict[str, Report]) -> str:
    """Return all targets, section by section, those that were not reached first."""
    verdicts = [verdict for report in reports.values() for verdict in report.verdicts]
    n_reached = sum(verdict.words == "reached" for verdict in verdicts)
    count = (
        "A target is a figure that was set before it was measured. "
        f"{n_reached} of {len(verdicts)} are reached."
    )
    parts = ["## Targets", count]
    for name, report in reports.items():
        if report.verdicts:
            parts.append(f"### Targets: {SECTIONS[name]}")
            parts.append(table_in_pipes(measured_first(report)))
    return "\n\n".join(parts)


def measured_first(report: Report) -> Table:
    """Return the targets of a report with what was measured in the first column."""
    ordered = sorted(report.verdicts, key=lambda verdict: verdict.words == "reached")
    rows: list[list[Cell]] = [
        [shown(measured), limit, "" if words == "reached" else f"**{words}**", label]
        for label, limit, measured, words in targets_table(ordered).rows
    ]
    return Table("", ["measured", "limit", "", "target"], rows)


def section(name: str, report: Report) -> str:
    """Return the section of one report."""
    pictures = [
        f"![{text}.](benchmarks/{picture}.png)"
        for picture, text in PICTURES.get(name, {}).items()
        if (FOLDER / f"{picture}.png").exists()
    ]
    return "\n\n".join([f"## {SECTIONS[name]}", report.markdown(), *pictures])


def evidence(report: Report) -> str:
    """Return short tables for the page on choosing a ranker."""
    parts = [f"**{table.title}**\n\n{table_in_pipes(table)}" for table in report.tables]
    return "\n\n".join([*parts, report.settings]) + "\n"


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


def counts(report: Report) -> str:
    """Return what the cases of a fuzzing script gave."""
    return table_in_pipes(report.tables[0]) + f"\n\n{report.settings}\n"


EXCERPTS = {
    "choosing.md": ("as_they_come", evidence),
    "trees_p.md": ("trees_lists", powers),
    "limited_classes_table.md": ("limited_classes", sizes),
    "fuzz_readers_table.md": ("fuzz_readers", counts),
    "fuzz_models_table.md": ("fuzz_models", counts),
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
    parts = [INTRODUCTION, *(section(name, report) for name, report in reports.items())]
    parts.append(targets(reports))
    if absent:
        parts.append(f"Scripts whose reports are not on this page: {'; '.join(absent)}.")
    options.output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(options.output)
    for name, (report, text_of) in EXCERPTS.items():
        source = FOLDER / f"{report}.json"
        if source.exists():
            path = FOLDER / name
            path.write_text(text_of(Report.load(source)), encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
