"""A commission: what translates, how, in what form; all that a process needs to answer lines."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from regard.checkpoint import WEIGHTS_FILE
from regard.inference.engine_selection import EngineChoice, EngineName, RequestedPrecision
from regard.jobs.line_batches import LineBatch
from regard.jobs.line_report import (
    CUT_LINE,
    IMPOSSIBLE_LINE,
    NOT_UTF8_LINE,
    SPLIT_LINE,
    TOO_LONG_LINE,
    LineIssue,
)
from regard.jobs.worker import BatchResult
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.text.lines import InputLine
from regard.translation.engines import DeviceName, select_translation_engine
from regard.translation.model_folder import read_translation_folder
from regard.translation.options import DEFAULT_OPTIONS, LongTextMode, TranslateOptions
from regard.translation.result import TEXT_ONLY, RowFormat, Translation, format_rows
from regard.translation.translator import Translator

ISSUE_OF_STATUS = {
    "split": SPLIT_LINE,
    "cut": CUT_LINE,
    "skipped": TOO_LONG_LINE,
    "impossible": IMPOSSIBLE_LINE,
}


@dataclass(frozen=True)
class LineTranslator:
    """Can be sent to another process."""

    model: Path
    device: DeviceName = "auto"
    engine: EngineName = "auto"
    precision: RequestedPrecision = "auto"
    threads: int | None = None
    search: SearchConfig = PAPER_SEARCH
    options: TranslateOptions = DEFAULT_OPTIONS
    row_format: RowFormat = TEXT_ONLY

    def load(self) -> Translator:
        return Translator.load(
            self.model,
            self.device,
            self.engine,
            self.precision,
            threads=self.threads,
            search=self.search,
            options=self.options,
        )

    def select_engine(self) -> EngineChoice:
        """Which engine that is, and why, before it is loaded."""
        folder = read_translation_folder(self.model, size_only=[WEIGHTS_FILE])
        return select_translation_engine(
            folder, self.device, self.engine, self.precision, self.search, self.options
        )

    def models(self) -> list[Path]:
        """Its model and those that write together with it."""
        return [self.model, *self.options.ensemble]

    def output_settings(self) -> dict[str, str]:
        """By name, all that decides what is written, besides the model itself."""
        how = {"device": self.device, "engine": self.engine, "precision": self.precision}
        groups = (self.search, self.options, self.row_format)
        known = {f.name: getattr(group, f.name) for group in groups for f in fields(group)}
        return {name: repr(value) for name, value in (how | known).items()}

    def process_batch(
        self, translator: Translator, batch: LineBatch, on_done: Callable[[int], None] | None = None
    ) -> BatchResult:
        """As many answers as lines, whatever is in them."""
        read = [
            _decode_line(line, number, self.options.long_text)
            for number, line in enumerate(batch.lines, start=batch.first_line)
        ]
        found = translator.translate_detailed(
            [text or "" for text, _ in read], self.search, self.options, on_done
        )
        written, troubles, tokens = [], [], 0
        for number, (text, trouble), translation in zip(
            range(batch.first_line, batch.first_line + len(read)), read, found, strict=True
        ):
            said = trouble or _issue_of_translation(number, translation)
            written.append(format_rows(self.row_format, number, text, translation, said))
            troubles += [] if said is None else [said]
            tokens += len(translation.tokens)
        return BatchResult(batch.number, len(read), tokens, troubles, "".join(written), batch.byte_offset)


def _decode_line(line: InputLine, number: int, long: LongTextMode) -> tuple[str | None, LineIssue | None]:
    """The line's text, or why there is none; or the beginning of one that is too long to be kept."""
    whole = len(line.content) + line.truncated_bytes
    if line.truncated_bytes and long != "cut":
        return None, LineIssue(
            number, TOO_LONG_LINE, f"{whole:,} bytes, and a line may have {len(line.content):,}"
        )
    try:
        text = line.content.decode("utf-8", "ignore" if line.truncated_bytes else "strict")
    except UnicodeDecodeError as error:
        byte = line.content[error.start]
        return None, LineIssue(number, NOT_UTF8_LINE, f"not UTF-8 (byte {error.start + 1} is 0x{byte:02x})")
    return text, LineIssue(
        number, CUT_LINE, f"{whole:,} bytes: only the beginning is translated"
    ) if line.truncated_bytes else None


def _issue_of_translation(number: int, found: Translation) -> LineIssue | None:
    return (
        None if found.status == "whole" else LineIssue(number, ISSUE_OF_STATUS[found.status], found.message)
    )
