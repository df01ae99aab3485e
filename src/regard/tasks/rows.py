"""Translations as lines of text: plain, in columns, or as JSON."""

import json
import math
from dataclasses import dataclass
from typing import Any

from regard.engine.reading import pharaoh
from regard.tasks.answer import Translation
from regard.tasks.report import Trouble


@dataclass(frozen=True)
class Form:
    """What is written of each translation; by default its text alone, on one line."""

    number: bool = False
    """The next best too: the number of the source line first, because several lines may belong to it."""
    scores: bool = False
    alignments: bool = False
    confidences: bool = False
    """In JSON only."""
    json: bool = False
    """Everything that is known, as one JSON object, whose keys are the same for every line."""


PLAIN = Form()


def rows(form: Form, line: int, source: str | None, found: Translation, trouble: Trouble | None) -> str:
    """The lines for one source line, each with its newline."""
    if form.json:
        said = None if trouble is None else {"kind": trouble.kind, "said": trouble.said}
        object_ = {"line": line, "source": source, **_as_dict(form, found), "trouble": said}
        if form.number:
            object_["alternatives"] = [_as_dict(form, other) for other in found.alternatives]
        return json.dumps(object_, ensure_ascii=False, allow_nan=False) + "\n"
    shown = (found, *found.alternatives) if form.number else (found,)
    return "".join(_columns(form, line, translation) + "\n" for translation in shown)


def _columns(form: Form, line: int, found: Translation) -> str:
    """Tabs lie between columns and nowhere else."""
    columns = [str(line)] if form.number else []
    columns += [f"{found.score:.4f}"] if form.scores else []
    rest = [pharaoh(found.alignment or ())] if form.alignments else []
    alone = not columns and not rest
    return "\t".join([*columns, found.text if alone else found.text.replace("\t", " "), *rest])


def _as_dict(form: Form, found: Translation) -> dict[str, Any]:
    known: dict[str, Any] = {
        "translation": found.text,
        "score": _finite(found.score),
        "log_probability": _finite(found.log_probability),
        "tokens": list(found.tokens),
    }
    if form.alignments:
        known["alignment"] = [list(pair) for pair in found.alignment or ()]
    if form.confidences:
        known["words"] = [word._asdict() for word in found.words or ()]
    return known


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None
