"""Markdown tables and the format of their numbers."""

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table. The first column is aligned left, every other column right."""
    rule = [":--", *["--:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))


def seconds(value: float) -> str:
    """Three digits and a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size or unit == "µs":
            return f"{three_digits(value / size)} {unit}"
    raise AssertionError("unreachable")


def three_digits(value: float) -> str:
    if value < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def ratio(value: float) -> str:
    """Two or three significant digits; no decimals from 10 on."""
    return f"{value:.2f}" if value < 1.95 else f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def megabytes(value: float) -> str:
    return f"{three_digits(value / 1e6)} MB"
