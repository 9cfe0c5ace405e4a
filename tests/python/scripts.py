"""Scripts in a process of their own, for tests that interrupt, fork, limit or measure a whole process."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

# Nothing here takes a tenth of it, unless it hangs.
WATCHDOG_SECONDS = 300

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc of Linux")
POSIX = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has neither fork nor SIGINT to send"
)

# The beginning of a script that finds numpy, and nothing that scikit-learn brings.
WITHOUT_SKLEARN = """
    import sys

    class Blocked:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in ("sklearn", "scipy", "joblib", "pandas", "threadpoolctl"):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Blocked())
"""


def run_script(*parts, **environment):
    """Run Python code, given in parts, in a new process; what it prints last is JSON and is returned."""
    script = "\n".join(textwrap.dedent(part) for part in parts)
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # So that what hangs can be ended together with the children that it waits for.
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
