"""A table like those of a census: whole numbers, amounts that are mostly zero, and codes.

The columns have the distributions of the well-known table of adults' incomes, roughly; the target
is whether an income is high. No row is a person's.
"""

import numpy as np

COLUMNS = (
    "age",
    "work_class",
    "final_weight",
    "education",
    "education_years",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
)


def make(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Features as float32, codes for words, and the class."""
    rng = np.random.default_rng(0)
    age = np.clip(rng.gamma(6.0, 6.5, rows), 17, 90).round()
    years = np.clip(rng.normal(10.0, 2.6, rows), 1, 16).round()
    hours = np.where(rng.random(rows) < 0.5, 40, np.clip(rng.normal(40, 14, rows), 1, 99).round())
    gain = np.where(rng.random(rows) < 0.08, rng.lognormal(8.5, 1.0, rows).round(-1), 0.0)
    loss = np.where(rng.random(rows) < 0.05, rng.normal(1_870, 360, rows).round(-1), 0.0)
    married, sex = rng.integers(7, size=rows), rng.integers(2, size=rows)
    occupation = rng.zipf(1.4, rows).clip(max=15)
    columns = [
        age,
        rng.zipf(2.0, rows).clip(max=9),
        rng.lognormal(12.0, 0.5, rows).round(),
        (years * 7) % 16,
        years,
        married,
        occupation,
        rng.integers(6, size=rows),
        rng.zipf(2.5, rows).clip(max=5),
        sex,
        gain,
        loss,
        hours,
        rng.zipf(2.5, rows).clip(max=42),
    ]
    score = 0.04 * (age - 38) + 0.35 * (years - 10) + 0.03 * (hours - 40) + 0.5 * sex - 1.6
    score += np.where(married < 3, 1.2, -0.8) + 2.5 * (gain > 5_000) + 0.3 * (occupation % 4 - 1.5)
    income = rng.random(rows) < 1 / (1 + np.exp(-score))
    return np.column_stack(columns).astype(np.float32), income.astype(np.int64)
