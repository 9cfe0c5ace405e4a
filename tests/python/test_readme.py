"""Every Python block of the documents runs, in order, in one namespace a document."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["README.md", "docs/differences.md"])
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Examples write files and draw; neither is to be left behind or to open a window.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    document = ROOT / name
    blocks = re.findall(
        r"```python\n(.*?)```", document.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    assert len(blocks) >= 2
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(document), "exec"), namespace)
