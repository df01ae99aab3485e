"""Commands as a person gives them."""

import io
from contextlib import redirect_stderr

import pytest

from regard.cli.main import main


def run_failing_command(*arguments: object) -> str:
    """The one line on stderr that a command ends with when it cannot go on."""
    said = io.StringIO()
    with redirect_stderr(said), pytest.raises(SystemExit) as stop:
        main(list(map(str, arguments)))
    assert stop.value.code == 1
    *_, message, end = said.getvalue().split("\n")
    assert message.startswith("regard: ")
    assert end == ""
    return message
