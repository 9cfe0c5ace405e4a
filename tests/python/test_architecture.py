"""ARCHITECTURE.md draws the modules of the crate as they are.

A line ``grow → scan split`` says that code of ``grow`` imports ``scan`` and ``split``.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

# A tree caches the compact nodes that prediction makes of it.
CYCLE = ("tree", "predict")

Graph = dict[str, set[str]]


def drawn(page: str) -> Graph:
    """The arrows of the page."""
    lines = re.findall(r"^(\w+) +→(.*)$", page, flags=re.MULTILINE)
    return {module: set(imports.split()) for module, imports in lines}


def without_tests(source: str) -> str:
    """The code that ships: no comments, and nothing from the tests at the end of the file on."""
    source = re.sub(r"//.*", "", source)
    return re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", source)[0]


def imported(sources: Path) -> Graph:
    """What the code of each module names of the other modules of the crate."""
    graph: Graph = {}
    for path in sorted(sources.rglob("*.rs")):
        parts = path.relative_to(sources).with_suffix("").parts
        if parts[0] in {"lib", "naive"} or "tests" in parts or parts[-1].endswith("_tests"):
            continue
        code = without_tests(path.read_text(encoding="utf-8"))
        names = set(re.findall(r"\bcrate::(\w+)", code)) - {parts[0]}
        graph.setdefault(parts[0], set()).update(names)
    return graph


def test_the_arrows_are_the_imports() -> None:
    assert drawn(PAGE) == imported(SOURCES)


def test_imports_run_down_the_page() -> None:
    order = {module: place for place, module in enumerate(drawn(PAGE))}
    upward = [
        (module, other)
        for module, others in drawn(PAGE).items()
        for other in others
        if order[other] < order[module] and (module, other) != CYCLE
    ]
    assert upward == []


def test_a_turned_arrow_is_noticed() -> None:
    turned = PAGE.replace("scan         →", "scan         → grow").replace(
        " scan search", " search"
    )
    assert turned != PAGE
    assert drawn(turned) != imported(SOURCES)


@pytest.mark.parametrize("folder", sorted(path.name for path in SOURCES.iterdir() if path.is_dir()))
def test_every_folder_is_on_the_page(folder: str) -> None:
    assert f"`{folder}/`" in PAGE or f"`src/{folder}/`" in PAGE or f"`{folder}/mod.rs`" in PAGE


def test_files_that_the_page_names_exist() -> None:
    named = re.findall(r"`((?:\w+/)*\w+\.(?:rs|py))`", PAGE)
    roots = [ROOT, SOURCES, ROOT / "python/splitwood", SOURCES / "grow"]
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []


def test_the_page_stays_one_page() -> None:
    assert len(PAGE.splitlines()) <= 120
