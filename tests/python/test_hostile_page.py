"""docs/hostile-cases.md names every test of a hostile case, in the row of its case, and no other.

The names of these tests begin with `test_case_` (Python) or `case_` (Rust) and the number. All
tests of `test_hostile_*.py` belong to the page, with or without a number.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/hostile-cases.md").read_text(encoding="utf-8")
NAMED = r"`([\w/]+\.(?:py|rs))::(\w+)`"


def sources():
    """The files that hold tests, as paths from the root of the project."""
    files = [
        *ROOT.glob("tests/python/test_*.py"),
        *ROOT.glob("src/**/*.rs"),
        *ROOT.glob("tests/**/*.rs"),
    ]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}


def functions_in(source):
    """The names of all functions in a Python or Rust source that could be tests."""
    return re.findall(r"^\s*(?:def|(?:pub )?fn) (\w+)", source, flags=re.MULTILINE)


def rows():
    """The tests that the page names, by the number of the case."""
    table = re.findall(r"^\| (\d+) \|.*$", PAGE, flags=re.MULTILINE)
    lines = re.findall(r"^\| \d+ \|.*$", PAGE, flags=re.MULTILINE)
    assert [int(number) for number in table] == list(range(1, 39))
    return {int(n): re.findall(NAMED, line) for n, line in zip(table, lines, strict=True)}


def test_every_case_has_a_test():
    assert [number for number, named in rows().items() if not named] == []


def test_named_tests_exist():
    files = sources()
    for file, test in re.findall(NAMED, PAGE):
        found = [source for path, source in files.items() if f"/{path}".endswith(f"/{file}")]
        assert any(test in functions_in(source) for source in found), f"{file}::{test}"


def test_every_numbered_test_is_named_in_its_row():
    named = rows()
    found = 0
    for path, source in sources().items():
        for test in functions_in(source):
            if number := re.match(r"(?:test_)?case_(\d+)_", test):
                found += 1
                row = named[int(number[1])]
                assert any(
                    f"/{path}".endswith(f"/{file}") and test == name for file, name in row
                ), f"docs/hostile-cases.md: row {number[1]} must name {path}::{test}"
    assert found > 100


def test_every_test_of_the_hostile_files_is_named():
    named = set(re.findall(NAMED, PAGE))
    here = Path(__file__).name
    for path in ROOT.glob("tests/python/test_hostile_*.py"):
        tests = [
            name
            for name in functions_in(path.read_text(encoding="utf-8"))
            if name.startswith("test_")
        ]
        missing = [test for test in tests if (path.name, test) not in named]
        assert path.name == here or missing == []


def test_no_row_names_a_test_of_another_case():
    for number, named in rows().items():
        for _, test in named:
            match = re.match(r"(?:test_)?case_(\d+)_", test)
            assert match is None or int(match[1]) == number, test
