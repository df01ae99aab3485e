"""Run a command that is expected to fail."""

import io
from contextlib import redirect_stderr

import pytest

from regard.cli.main import main


def run_failing_command(*arguments: object) -> str:
    """Run a command that fails; return its error message, the last line on stderr."""
    stderr = io.StringIO()
    with redirect_stderr(stderr), pytest.raises(SystemExit) as stop:
        main(list(map(str, arguments)))
    assert stop.value.code == 1
    *_, message, end = stderr.getvalue().split("\n")
    assert message.startswith("regard: ")
    assert end == ""
    return message
