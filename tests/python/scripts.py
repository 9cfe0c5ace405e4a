"""Scripts in separate processes, for tests that interrupt, fork, limit or measure a process."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

# Ten times the duration of the slowest script.
WATCHDOG_SECONDS = 300

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc of Linux")
POSIX = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has neither fork nor SIGINT to send"
)

# The beginning of a script that can import numpy, but not scikit-learn or its dependencies.
WITHOUT_SKLEARN = """
    import sys

    class Blocked:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in ("sklearn", "scipy", "joblib", "pandas", "threadpoolctl"):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Blocked())
"""


def run_script(*parts, **environment):
    """Run Python code, given in parts, in a new process; return its last line, parsed as JSON."""
    script = "\n".join(textwrap.dedent(part) for part in parts)
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A process group of its own, so that a script that hangs is killed with its children.
        start_new_session=True,
        env={**os.environ, **environment},
    ) as process:
        try:
            output, errors = process.communicate(timeout=WATCHDOG_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 0, f"exit code {process.returncode}\n{output}\n{errors}"
    assert "panicked" not in errors, errors
    return json.loads(output.splitlines()[-1])
