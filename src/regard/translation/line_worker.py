"""A commission: what translates, how, in what form; all that a process needs to answer lines."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from regard.checkpoint import WEIGHTS
from regard.inference.engine_selection import Choice, EngineName, Precision
from regard.jobs.line_batches import Window
from regard.jobs.line_report import CUT, IMPOSSIBLE, NOT_UTF8, SPLIT, TOO_LONG, Trouble
from regard.jobs.worker import Answered
from regard.search.config import PAPER, SearchConfig
from regard.text.lines import Line
from regard.translation.engines import Device, chosen
from regard.translation.model_folder import read_folder
from regard.translation.options import NOTHING_ASKED, Asked, Long
from regard.translation.result import PLAIN, Form, Translation, rows
from regard.translation.translator import Translator

KINDS = {"split": SPLIT, "cut": CUT, "skipped": TOO_LONG, "impossible": IMPOSSIBLE}


@dataclass(frozen=True)
class Commission:
    """Can be sent to another process."""

    model: Path
    device: Device = "auto"
    engine: EngineName = "auto"
    precision: Precision = "auto"
    threads: int | None = None
    search: SearchConfig = PAPER
    asked: Asked = NOTHING_ASKED
    form: Form = PLAIN

    def load(self) -> Translator:
        return Translator.load(
            self.model,
            self.device,
            self.engine,
            self.precision,
            threads=self.threads,
            search=self.search,
            asked=self.asked,
        )

    def choice(self) -> Choice:
        """Which engine that is, and why, before it is loaded."""
        folder = read_folder(self.model, unread=[WEIGHTS])
        return chosen(folder, self.device, self.engine, self.precision, self.search, self.asked)

    def models(self) -> list[Path]:
        """Its model and those that write together with it."""
        return [self.model, *self.asked.also]

    def options(self) -> dict[str, str]:
        """By name, all that decides what is written, besides the model itself."""
        how = {"device": self.device, "engine": self.engine, "precision": self.precision}
        groups = (self.search, self.asked, self.form)
        known = {f.name: getattr(group, f.name) for group in groups for f in fields(group)}
        return {name: repr(value) for name, value in (how | known).items()}

    def answer(
        self, translator: Translator, window: Window, on_done: Callable[[int], None] | None = None
    ) -> Answered:
        """As many answers as lines, whatever is in them."""
        read = [
            _read(line, number, self.asked.long)
            for number, line in enumerate(window.lines, start=window.first)
        ]
        found = translator.detailed([text or "" for text, _ in read], self.search, self.asked, on_done)
        written, troubles, tokens = [], [], 0
        for number, (text, trouble), translation in zip(
            range(window.first, window.first + len(read)), read, found, strict=True
        ):
            said = trouble or _trouble(number, translation)
            written.append(rows(self.form, number, text, translation, said))
            troubles += [] if said is None else [said]
            tokens += len(translation.tokens)
        return Answered(window.number, len(read), tokens, troubles, "".join(written), window.position)


def _read(line: Line, number: int, long: Long) -> tuple[str | None, Trouble | None]:
    """The line's text, or why there is none; or the beginning of one that is too long to be kept."""
    whole = len(line.content) + line.beyond
    if line.beyond and long != "cut":
        return None, Trouble(number, TOO_LONG, f"{whole:,} bytes, and a line may have {len(line.content):,}")
    try:
        text = line.content.decode("utf-8", "ignore" if line.beyond else "strict")
    except UnicodeDecodeError as error:
        byte = line.content[error.start]
        return None, Trouble(number, NOT_UTF8, f"not UTF-8 (byte {error.start + 1} is 0x{byte:02x})")
    return text, Trouble(
        number, CUT, f"{whole:,} bytes: only the beginning is translated"
    ) if line.beyond else None


def _trouble(number: int, found: Translation) -> Trouble | None:
    return None if found.fate == "whole" else Trouble(number, KINDS[found.fate], found.note)
