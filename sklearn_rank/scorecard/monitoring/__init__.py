"""Tables for the validation and the monitoring of scorecards, from plain arrays.

Columns of figures by band of the score, by group or by variable; ``to_frame()`` makes a data frame
of them. `sklearn_rank.scorecard.report` shows them on one page.
"""

from sklearn_rank.scorecard.monitoring._gains import (
    CalibrationTable,
    GainsTable,
    calibration_table,
    gains_table,
)
from sklearn_rank.scorecard.monitoring._group_figures import GroupReport, group_report
from sklearn_rank.scorecard.monitoring._periods import (
    CutoffTable,
    PeriodTable,
    VintageTable,
    cutoff_table,
    period_table,
    vintage_table,
)
from sklearn_rank.scorecard.monitoring._signs import (
    EvidenceTable,
    StepTable,
    TermTable,
    ValidationTables,
    validation_tables,
)
from sklearn_rank.scorecard.monitoring._stability import (
    CharacteristicStability,
    StabilityTable,
    characteristic_stability,
    population_stability_index,
    stability_table,
)

__all__ = [
    "CalibrationTable",
    "CharacteristicStability",
    "CutoffTable",
    "EvidenceTable",
    "GainsTable",
    "GroupReport",
    "PeriodTable",
    "StabilityTable",
    "StepTable",
    "TermTable",
    "ValidationTables",
    "VintageTable",
    "calibration_table",
    "characteristic_stability",
    "cutoff_table",
    "gains_table",
    "group_report",
    "period_table",
    "population_stability_index",
    "stability_table",
    "validation_tables",
    "vintage_table",
]
