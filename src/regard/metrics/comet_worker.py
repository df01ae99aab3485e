"""The process that computes COMET, in the Python that has unbabel-comet; it imports nothing of regard.

unbabel-comet needs versions of numpy and transformers that cannot be installed beside this package. With
`--version` it prints the version of unbabel-comet. Otherwise it answers two lines of JSON on stdin: the path
of a checkpoint, which it loads, and a request, whose answer is the score of each sample.
"""

import json
import os
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version


def answer_stdin():
    del sys.path[0]  # the folder of this file, whose modules are not for this process
    if sys.argv[1:] == ["--version"]:
        try:
            print(version("unbabel-comet"))  # noqa: T201
        except PackageNotFoundError:
            sys.exit(1)
        return
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the packages print is no answer
    model = import_module("comet").load_from_checkpoint(_read_line(), local_files_only=True)
    _write_line(answers, "ready")
    request = _read_line()
    has_gpu = request["device"] != "cpu" and import_module("torch").cuda.is_available()
    prediction = model.predict(
        request["samples"],
        batch_size=request["batch_size"],
        gpus=int(has_gpu),
        progress_bar=request["show_progress"],
        num_workers=0,
    )
    _write_line(answers, [float(score) for score in prediction["scores"]])


def _read_line():
    line = sys.stdin.readline()
    if not line:  # the command has ended
        sys.exit(0)
    return json.loads(line)


def _write_line(answers, document):
    answers.write(json.dumps(document) + "\n")
    answers.flush()


if __name__ == "__main__":
    answer_stdin()
