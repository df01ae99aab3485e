"""How the user called us, so that what we tell them to type works."""

import shutil
import sys
from pathlib import Path


def program() -> str:
    """`regard` where that is on the path, else the way to it, as after `make demo` in a fresh clone."""
    called = Path(sys.argv[0])
    if shutil.which("regard"):
        return "regard"
    return str(called) if called.name == "regard" else f"{sys.executable} -m regard"
