"""What package indexes show: the metadata, and README with links that lead somewhere from there."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["package"]


@pytest.mark.parametrize("package", [PYPROJECT, CARGO], ids=["pyproject", "cargo"])
def test_the_metadata_name_trees_and_forests(package) -> None:
    for text in (package["description"], " ".join(package["keywords"])):
        assert re.search(r"decision.tree", text)
        assert "forest" in text


def test_the_metadata_keep_the_limits_of_the_indexes() -> None:
    """crates.io takes five keywords of 20 letters; PyPI shows 512 letters of a summary."""
    assert len(CARGO["keywords"]) <= 5
    assert all(re.fullmatch(r"[a-z][\w+-]{,19}", keyword) for keyword in CARGO["keywords"])
    assert len(PYPROJECT["description"]) <= 512


def test_the_links_of_a_release_are_absolute() -> None:
    script = ROOT / ".github/absolute_links.py"
    if not script.exists():
        pytest.skip("the sdist has no workflows")
    absolute = runpy.run_path(str(script))["absolute"]
    text = absolute((ROOT / "README.md").read_text(encoding="utf-8"), "https://a.b/c", "v1")
    pictures = re.findall(r"!\[[^]]*\]\(([^)\s]+)\)", text)
    assert len(pictures) >= 3
    assert all(re.match(r"https://a\.b/c/raw/v1/docs/pictures/\w", one) for one in pictures)
    # Package indexes give headings their anchors, so that "#…" works there, too.
    links = [one for one in re.findall(r"\]\(([^)\s]+)\)", text) if one not in pictures]
    assert len(links) > 30
    assert all(one.startswith(("https://", "#")) for one in links)
    assert "https://a.b/c/blob/v1/docs/forests.md" in links
    with pytest.raises(SystemExit, match=r"there is no gone\.md"):
        absolute("[a](gone.md)", "https://a.b/c", "v1")
