"""A generator of loan applications with categories, special codes and missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state

from sklearn_rank._core.imports import import_extra
from sklearn_rank._core.protocols import Floats, Values
from sklearn_rank._core.validation import Number, check_parameters

MONOTONIC = {
    "income": -1,
    "debt_to_income": 1,
    "loan_amount": 1,
    "loan_months": 1,
    "utilisation": 1,
    "enquiries_6m": 1,
    "months_since_delinquency": -1,
    "months_at_address": -1,
    "months_employed": -1,
}
SPECIAL = {
    "debt_to_income": [-998.0],
    "utilisation": [-999.0],
    "months_since_delinquency": [-999.0, -998.0],
}
CATEGORIES = {
    "employment": ("permanent", "fixed_term", "self_employed", "retired", "unemployed"),
    "housing": ("own", "rent", "with_parents", "other"),
    "purpose": ("car", "furniture", "repairs", "consolidation", "education", "holiday", "business"),
    "channel": ("branch", "online", "broker"),
    "region": tuple(f"R{region}" for region in range(1, 13)),
}
KINDS = ("paid", "never_pays", "overstretched", "life_event")
N_MONTHS = 24
_ALLOWED = {"n_samples": Number(1, integer=True)}


def make_credit(
    n_samples: int = 10_000, *, random_state: int | np.random.RandomState | None = None
) -> Bunch:
    r"""Generate loan applications with categories, missing values and special codes.

    About 6 % of the applicants default (target 1). There are three kinds of bad payers:

    - **never_pays**, about a quarter: never intended to pay. They are few and similar: many
      enquiries in a short time, a new address, an application online or through a broker, often
      without proof of income. A ranker can put them at the top of the list.
    - **overstretched**, about half: their instalments and credit lines are high for their income.
      The risk grows slowly with many features, so they spread over the upper half of the list,
      among many good payers.
    - **life_event**, about a quarter: illness, divorce, loss of a job. Hardly any feature predicts
      them, so they spread over the whole list.

    A small model cannot describe all three. If selected by the AUC, it spends its terms on the
    overstretched; if selected for the top of the list, by a larger p or a partial AUC, it spends
    more terms on those who never pay.

    The columns:

    - *age* in years; *income* per month, missing without proof; *debt_to_income*: instalments in
      % of income, -998 without proof of income;
    - *loan_amount* in the currency of the income; *loan_months*: the term; *utilisation*: % of the
      credit lines in use, -999 without one;
    - *enquiries_6m* by lenders, missing without a file at the bureau; *months_since_delinquency*:
      -999 if never late, -998 without a file;
    - *months_at_address*; *months_employed* with the same employer, missing without one;
    - *employment*, *housing*, *purpose*, *channel*, *region*: categories.

    .. math:: P(\mathrm{bad}) = 1 - \prod_{k=1}^{3} \bigl(1 - h_k(x)\bigr)

    where :math:`h_k(x)` is the probability of the k-th kind. Each is monotone in the features of
    `monotonic_cst`. There are two interactions: a new address counts more in online applications,
    and used credit lines count more with high instalments. The probabilities do not depend on
    `group` or `month`, but features do: group B has lower incomes, and the share of online
    applications grows from about 30 % in the first month to about 60 % in the last.

    Parameters
    ----------
    n_samples : int in [1, inf), default=10000
        Number of applications.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator; an int makes the result reproducible.

    Returns
    -------
    bunch : `~sklearn.utils.Bunch`
        data : pandas DataFrame of shape (n_samples, 15)
            Ten columns of numbers, then five of dtype "category". NaN is missing.
        target : ndarray of shape (n_samples,)
            1 for bad payers, otherwise 0.
        feature_names, categorical_features : list of str
            All columns, and those with categories.
        monotonic_cst : dict
            1 for features with increasing risk, -1 for features with decreasing risk (apart from
            special codes and missing values).
        special_values : dict
            The special codes of each feature that has any.
        group : ndarray of shape (n_samples,)
            "A" or "B", a protected attribute; not a feature.
        month : ndarray of shape (n_samples,)
            Month of the application, 0 to 23; not a feature.
        probability : ndarray of shape (n_samples,)
            The true probability of being a bad payer.
        kind : ndarray of shape (n_samples,)
            "paid", "never_pays", "overstretched" or "life_event".
        DESCR : str
            This text.

    Raises
    ------
    ImportError
        Without pandas.

    See Also
    --------
    make_queries : Generate a ranking data set with queries.

    References
    ----------
    The model is defined here.

    Examples
    --------
    >>> from sklearn_rank.datasets import make_credit
    >>> credit = make_credit(1000, random_state=0)
    >>> credit.data.shape
    (1000, 15)
    >>> credit.special_values["months_since_delinquency"]
    [-999.0, -998.0]
    >>> bool(0.04 < credit.target.mean() < 0.1)
    True
    """
    check_parameters("make_credit", {"n_samples": n_samples}, _ALLOWED)
    pandas = import_extra("pandas", "cli", "make_credit")
    rng = check_random_state(random_state)
    table, group_and_month = _draw_applications(rng, int(n_samples))
    hazards = hazards_of(table)
    probability = 1.0 - np.prod([1.0 - hazard for hazard in hazards], axis=0)
    # The first kind that happens decides.
    happens = rng.random_sample((len(hazards), n_samples)) < hazards
    kind = np.where(happens.any(axis=0), 1 + np.argmax(happens, axis=0), 0)
    for name, categories in CATEGORIES.items():
        table[name] = pandas.Categorical(table[name], categories=list(categories))
    target = (kind > 0).astype(np.int64)
    return Bunch(
        data=pandas.DataFrame(table),
        target=target,
        feature_names=list(table),
        categorical_features=list(CATEGORIES),
        monotonic_cst=dict(MONOTONIC),
        special_values={name: list(codes) for name, codes in SPECIAL.items()},
        **group_and_month,
        probability=probability,
        kind=np.array(KINDS)[kind],
        DESCR=make_credit.__doc__,
    )


def _draw_names(rng: np.random.RandomState, names: tuple[str, ...], shares: list[Any]) -> Values:
    """Draw a name for each row; the share of a name is a number or an array with one per row."""
    cumulative = np.cumsum(np.broadcast_arrays(*shares), axis=0)
    draws = rng.random_sample(cumulative.shape[1]) * cumulative[-1]
    return np.array(names)[(draws >= cumulative).sum(axis=0)]


def _draw_applications(rng: np.random.RandomState, n: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw the features (a dict by name), the group and the month."""
    group, month = np.where(rng.random_sample(n) < 0.45, "B", "A"), rng.randint(N_MONTHS, size=n)
    age = np.round(18 + 60 * rng.beta(1.5, 2.6, n))
    strain = rng.standard_normal(n)  # financial strain
    is_fraud = rng.random_sample(n) < 0.025  # has the features of those who never pay
    employment = _draw_employment(rng, age)
    income, is_proved = _draw_income(rng, age, employment, group, is_fraud)
    numbers = {
        "age": age,
        "income": np.where(is_proved, income, np.nan),
        **_draw_loan(rng, income, is_proved, strain, is_fraud),
        **_draw_bureau(rng, age, strain, is_fraud),
        **_draw_stability(rng, age, employment, is_fraud),
    }
    is_young, online = age < 27, 0.3 + 0.3 * month / (N_MONTHS - 1)
    branch = 1 - online - 0.2
    shares: dict[str, list[Any]] = {
        "housing": [np.where(is_young, 0.08, 0.5), 0.45, np.where(is_young, 0.4, 0.02), 0.04],
        "purpose": [np.full(n, percent) for percent in (30, 18, 14, 16, 8, 9, 5)],
        "channel": [np.where(is_fraud, 0.05, branch), np.where(is_fraud, 0.65, online), 0.2],
        "region": [np.full(n, 1 / rank) for rank in range(1, 13)],
    }
    names = {name: _draw_names(rng, CATEGORIES[name], share) for name, share in shares.items()}
    table = {**numbers, "employment": employment, **names}
    return table, {"group": group, "month": month}


def _draw_employment(rng: np.random.RandomState, age: Floats) -> Values:
    retired = expit((age - 64) / 1.5)
    working = 1 - retired
    fixed_term = np.where(age < 30, 0.3, 0.12) * working
    shares = [0.64 * working, fixed_term, 0.12 * working, retired, 0.06 * working]
    return _draw_names(rng, CATEGORIES["employment"], shares)


def _draw_income(
    rng: np.random.RandomState, age: Floats, employment: Values, group: Values, is_fraud: Values
) -> tuple[Floats, Values]:
    """Return incomes, and a mask of those that are proven."""
    level = 7.75 + 0.012 * np.minimum(age - 18, 30) - 0.14 * (group == "B")
    factor = {"permanent": 0.0, "fixed_term": -0.2, "self_employed": 0.1, "retired": -0.3}
    level += np.select([employment == name for name in factor], list(factor.values()), -0.75)
    income = 10 * np.round(np.exp(level + 0.38 * rng.standard_normal(len(age))) / 10)
    unusual = [employment == "self_employed", employment == "unemployed"]
    unproved = np.select(unusual, [0.2, 0.25], 0.02)
    return income, rng.random_sample(len(age)) >= np.where(is_fraud, 0.5, unproved)


def _draw_loan(
    rng: np.random.RandomState, income: Floats, is_proved: Values, strain: Floats, is_fraud: Values
) -> dict[str, Floats]:
    n = len(income)
    ratio = np.exp(1.0 + 0.6 * rng.standard_normal(n) + 0.5 * is_fraud)
    amount = np.clip(100 * np.round(ratio * income / 100), 500, 80_000)
    debt = 100 * expit(-1.3 + 0.55 * strain + 0.45 * rng.standard_normal(n))
    return {
        "debt_to_income": np.where(is_proved, np.round(debt, 1), -998.0),
        "loan_amount": amount,
        "loan_months": 12.0
        * rng.choice(np.arange(1, 8), n, p=[0.1, 0.15, 0.2, 0.2, 0.2, 0.1, 0.05]),
    }


def _draw_bureau(
    rng: np.random.RandomState, age: Floats, strain: Floats, is_fraud: Values
) -> dict[str, Floats]:
    n = len(age)
    has_no_file = rng.random_sample(n) < np.where(age < 24, 0.25, 0.04)
    has_no_line = has_no_file | (rng.random_sample(n) < 0.18)
    utilisation = np.minimum(100 * expit(-0.7 + strain + 0.7 * rng.standard_normal(n)) * 1.1, 110)
    enquiries = rng.poisson(np.exp(-0.4 + 0.3 * strain)) + is_fraud * (2 + rng.poisson(2.0, n))
    was_late = rng.random_sample(n) < expit(-1.5 + 0.8 * strain)
    months = np.floor(rng.exponential(30.0, n))
    late = np.where(was_late & (months <= 84), months, -999.0)
    return {
        "utilisation": np.where(has_no_line, -999.0, np.round(utilisation)),
        "enquiries_6m": np.where(has_no_file, np.nan, enquiries),
        "months_since_delinquency": np.where(has_no_file, -998.0, late),
    }


def _draw_stability(
    rng: np.random.RandomState, age: Floats, employment: Values, is_fraud: Values
) -> dict[str, Floats]:
    n = len(age)
    at_address = np.where(is_fraud, rng.exponential(5.0, n), rng.exponential(80.0, n))
    employed = np.minimum(rng.exponential(70.0, n), 12 * (age - 17))
    employed[np.isin(employment, ["retired", "unemployed"])] = np.nan
    return {
        "months_at_address": np.floor(np.minimum(at_address, 12 * age)),
        "months_employed": np.floor(employed),
    }


def hazards_of(table: dict[str, Any]) -> list[Floats]:
    """Return the probabilities h_k of the three kinds of bad payers."""
    ratio = table["loan_amount"] / np.where(np.isnan(table["income"]), 2500.0, table["income"])
    life_event = np.where(table["employment"] == "fixed_term", 0.024, 0.014)
    return [_never_pays(table, ratio), _overstretched(table, ratio), life_event]


def _never_pays(table: dict[str, Any], ratio: Floats) -> Floats:
    enquiries = np.nan_to_num(table["enquiries_6m"], nan=2.0)
    is_new = np.clip(1 - table["months_at_address"] / 12, 0, 1)
    online, broker = table["channel"] == "online", table["channel"] == "broker"
    logit = -7.9 + 0.9 * np.minimum(enquiries, 6) + 1.2 * is_new + 0.6 * broker
    # The interaction: a new address counts more in an online application.
    logit += 1.6 * online * is_new + 0.3 * online + 0.15 * np.minimum(ratio, 8)
    logit += 1.3 * np.isnan(table["income"])
    return np.asarray(0.9 * expit(logit))


def _overstretched(table: dict[str, Any], ratio: Floats) -> Floats:
    usage = np.where(table["utilisation"] < 0, 25.0, table["utilisation"]) / 100
    debt = np.where(table["debt_to_income"] < 0, 35.0, table["debt_to_income"]) / 50
    delay = table["months_since_delinquency"]
    # The interaction: used credit lines count more with high instalments.
    logit = -6.2 + 1.3 * usage + 1.2 * debt + 1.6 * usage * debt + 0.1 * np.minimum(ratio, 8)
    logit += np.select([delay == -999, delay == -998], [0.0, 1.1], 0.4 + 1.4 * np.exp(-delay / 24))
    logit -= 0.6 * np.log(np.where(np.isnan(table["income"]), 1700.0, table["income"]) / 2500)
    logit += 0.1 * np.log1p(np.nan_to_num(table["enquiries_6m"], nan=1.0))
    logit += 0.008 * table["loan_months"] + 0.6 * (table["age"] < 27)
    logit -= 0.8 * np.minimum(np.nan_to_num(table["months_employed"], nan=0.0), 60) / 60
    effects = {"consolidation": 0.5, "business": 0.7, "holiday": 0.3, "car": -0.2, "repairs": -0.2}
    logit += np.select([table["purpose"] == name for name in effects], list(effects.values()), 0.0)
    is_settled = [table["employment"] == "retired", table["housing"] == "own"]
    logit += np.select(is_settled, [-0.5, -0.3], 0.0)
    return np.asarray(expit(logit))
