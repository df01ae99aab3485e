"""LineTranslator: the worker of translation jobs; translates batches of input lines to output lines."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from regard.checkpoint import MANIFEST_FILE, file_sha256, find_model_folder
from regard.inference.engine_selection import EngineChoice
from regard.jobs.line_batches import LineBatch
from regard.jobs.line_report import (
    CUT_LINE,
    GLOSSARY_LINE,
    IMPOSSIBLE_LINE,
    NOT_UTF8_LINE,
    SPLIT_LINE,
    TOO_LONG_LINE,
    UNLIKE_TRAINING_LINE,
    LineIssue,
)
from regard.jobs.worker import BatchResult
from regard.search.config import PAPER_SEARCH, SearchConfig
from regard.text.lines import InputLine
from regard.translation.engines import DEFAULT_ENGINE, EngineOptions, select_translation_engine
from regard.translation.model_folder import TranslationFolder
from regard.translation.options import DEFAULT_OPTIONS, LongTextMode, TranslateOptions
from regard.translation.result import TEXT_ONLY, RowFormat, Translation, format_rows
from regard.translation.translator import Translator

ISSUE_OF_STATUS = {
    "split": SPLIT_LINE,
    "cut": CUT_LINE,
    "skipped": TOO_LONG_LINE,
    "impossible": IMPOSSIBLE_LINE,
}
UNLIKE_TRAINING_MESSAGE = "unlike the training text: the translation is less probable than 99 % in validation"


@dataclass(frozen=True)
class LineTranslator:
    """A model folder with all options of a translation job; implements `Worker`."""

    folder: TranslationFolder
    engine: EngineOptions = DEFAULT_ENGINE
    search: SearchConfig = PAPER_SEARCH
    options: TranslateOptions = DEFAULT_OPTIONS
    row_format: RowFormat = TEXT_ONLY
    choice: EngineChoice | None = None
    """The engine, once it has been chosen: the same in every process."""

    def with_engine_chosen(self) -> "tuple[LineTranslator, EngineChoice]":
        """Choose the engine, before any is loaded."""
        choice = select_translation_engine(self.folder, self.engine, self.search, self.options)
        return replace(self, choice=choice), choice

    def load(self) -> Translator:
        return Translator.from_folder(self.folder, self.engine, self.search, self.options, self.choice)

    def job_facts(self) -> dict[str, Any]:
        """Return the models and every option that the output depends on."""
        engine = self.engine if self.choice is None else replace(self.engine, engine=self.choice.name)
        groups = (engine, self.search, self.options, self.row_format)
        settings = {f.name: repr(getattr(group, f.name)) for group in groups for f in fields(group)}
        del settings["threads"], settings["concurrent_calls"]  # another number of threads may finish the job
        return {
            **settings,
            "model": file_sha256(self.folder.path / MANIFEST_FILE),
            "ensemble": [
                file_sha256(find_model_folder(path) / MANIFEST_FILE) for path in self.options.ensemble
            ],
        }

    def process_batch(
        self, model: Translator, batch: LineBatch, on_done: Callable[[int], None] | None = None
    ) -> BatchResult:
        """Translate a batch; a line that cannot be translated becomes an empty line and an issue."""
        inputs = [
            _decode_line(line, number, self.options.long_text)
            for number, line in enumerate(batch.lines, start=batch.first_line)
        ]
        texts = [text or "" for text, _ in inputs]
        translations = model.translate_detailed(texts, self.search, self.options, on_done)
        rows, issues, tokens = [], [], 0
        for number, ((text, input_issue), translation) in enumerate(
            zip(inputs, translations, strict=True), start=batch.first_line
        ):
            first = input_issue or _issue_of_translation(number, translation)
            own_issues = [each for each in (first, _glossary_issue(number, translation)) if each is not None]
            issue = own_issues[0] if own_issues else None
            rows.append(format_rows(self.row_format, number, text, translation, issue))
            issues += own_issues
            if translation.unlike_training:
                issues.append(LineIssue(number, UNLIKE_TRAINING_LINE, UNLIKE_TRAINING_MESSAGE))
            tokens += len(translation.tokens)
        return BatchResult(batch.number, len(inputs), tokens, issues, "".join(rows), batch.byte_offset)


def _decode_line(
    line: InputLine, number: int, long_text: LongTextMode
) -> tuple[str | None, LineIssue | None]:
    """Return the text of a line, or None and the issue; an oversized line may be cut to its beginning."""
    size = len(line.content) + line.truncated_bytes
    is_truncated = line.truncated_bytes > 0
    if is_truncated and long_text != "cut":
        message = f"{size:,} bytes, and a line may have {len(line.content):,}"
        return None, LineIssue(number, TOO_LONG_LINE, message)
    try:
        text = line.content.decode("utf-8", "ignore" if is_truncated else "strict")
    except UnicodeDecodeError as error:
        byte = line.content[error.start]
        return None, LineIssue(number, NOT_UTF8_LINE, f"not UTF-8 (byte {error.start + 1} is 0x{byte:02x})")
    if not is_truncated:
        return text, None
    return text, LineIssue(number, CUT_LINE, f"{size:,} bytes: only the beginning is translated")


def _glossary_issue(number: int, translation: Translation) -> LineIssue | None:
    if not translation.misplaced_terms:
        return None
    terms = ", ".join(translation.misplaced_terms)
    return LineIssue(number, GLOSSARY_LINE, f"glossary term not in place: {terms}")


def _issue_of_translation(number: int, translation: Translation) -> LineIssue | None:
    if translation.status == "whole":
        return None
    return LineIssue(number, ISSUE_OF_STATUS[translation.status], translation.message)
