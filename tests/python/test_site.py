"""The site (`make docs`) builds without a warning, has every public name, and no dead link."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import splitwood
import splitwood.dask

ROOT = Path(__file__).parents[2]
# Not examples for users: a check of wheels, the program of `make demo`, the drawings of one page.
NOT_IN_THE_GALLERY = {"wheel_smoke", "demo", "drawings"}


class Page(HTMLParser):
    """The anchors of a page, and where its links and pictures lead."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.anchors.add(value)
            if name in {"href", "src"} and value:
                self.targets.add(value)


def public_methods(owner: type, path: str) -> set[str]:
    names = {name for name in dir(owner) if not name.startswith("_")}
    return {f"{path}.{n}" for n in names if callable(getattr(owner, n))}


def public_names() -> set[str]:
    """The anchors that the API reference must have."""
    found = set()
    for module in (splitwood, splitwood.dask):
        for name in module.__all__:
            owner, path = getattr(module, name), f"{module.__name__}.{name}"
            found.add(path)
            # The methods of an exception are Python's.
            if isinstance(owner, type) and not issubclass(owner, BaseException):
                found |= public_methods(owner, path)
    return found


def dead_links(pages: dict[Path, Page]) -> list[str]:
    dead = []
    for file, page in pages.items():
        for target in page.targets:
            link = urlsplit(target)
            if link.scheme or link.netloc:
                continue
            path = (file.parent / unquote(link.path)).resolve() if link.path else file
            # "#" alone is a button.
            anchor = unquote(link.fragment)
            known = pages[path].anchors if path in pages else {anchor}
            if not path.exists() or (anchor and anchor not in known):
                dead.append(f"{file.name}: {target}")
    return dead


def is_cut_off(picture: Path) -> bool:
    """Whether something is drawn on the edge of a picture."""
    imread = pytest.importorskip("matplotlib.image").imread
    cells = imread(picture)
    edges = [cells[0], cells[-1], cells[:, 0], cells[:, -1]]
    return any((edge != edge[0]).any() for edge in edges)


def test_the_reference_lists_every_public_name_once() -> None:
    """Also where Sphinx is not installed."""
    text = (ROOT / "docs/api.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   (?!:)(\w+)$|^\.\. py:data:: (\w+)$", text, flags=re.MULTILINE)
    # The names of the module `dask` are on a page of its own, made from its `__all__`.
    assert sorted(a or b for a, b in listed) == sorted([*splitwood.__all__, "dask"])


def test_the_site_is_complete(tmp_path: Path) -> None:
    """One test, because the build takes longer than all checks of its result."""
    for package in ("sphinx_gallery", "myst_parser", "numpydoc", "pydata_sphinx_theme"):
        pytest.importorskip(package, reason="the extra docs is not installed")
    command = [sys.executable, str(ROOT / "docs/site/build.py"), str(tmp_path)]
    outcome = subprocess.run(command, timeout=600, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr

    html = (tmp_path / "html").resolve()
    files = [file for file in html.rglob("*.html") if "_static" not in file.parts]
    pages = {file: Page(file) for file in files}
    anchors = set().union(*(page.anchors for page in pages.values()))
    assert public_names() - anchors == set()
    assert dead_links(pages) == []

    documents = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("src/**/README.md")]
    assert len(documents) > 20
    for document in documents:
        assert (html / document.relative_to(ROOT)).with_suffix(".html").exists()

    examples = {file.stem for file in ROOT.glob("examples/*.py")} - NOT_IN_THE_GALLERY
    assert len(examples) >= 10
    for example in examples:
        assert list((html / "_images").glob(f"sphx_glr_{example}_001.*")), example
    drawn = list((html / "_images").glob("sphx_glr_*_0*.png"))
    assert len(drawn) >= len(examples)
    assert [picture.name for picture in drawn if is_cut_off(picture)] == []
