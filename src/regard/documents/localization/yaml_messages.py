"""YAML files of messages (.yml, .yaml): Rails and other nested mappings of strings.

The events of PyYAML's parser give the position of each scalar; aliases are never followed, so that a text is
translated once and a file of aliases to aliases stays small. Only the scalars that are messages are written
anew, in their own style if that can hold the text.
"""

import re
from collections.abc import Iterator

import yaml

from regard.documents.localization.icu_message import read_message
from regard.documents.localization.keyed_values import (
    MAX_KEYED_DEPTH,
    KeyedValue,
    locale_root,
    message_values,
    reject_other_data,
)
from regard.documents.localization.yaml_scalars import (
    YamlScalarStyle,
    block_indent,
    is_plain,
    is_string,
    scalar_span,
)
from regard.documents.message_template import Message, MessageTemplate, Replacement
from regard.errors import DataError

YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where it is installed; the other is several times slower and gives the same positions."""
STRING_TAGS = (None, "!", "tag:yaml.org,2002:str")
UNICODE_ESCAPE = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})")


def read_yaml_messages(
    text: str, name: str, target_language: str | None = None, any_content: bool = False
) -> MessageTemplate:
    """Return the template of the messages in a YAML file.

    A file that is plainly something else is rejected, unless `any_content` is set. A language code that is
    the only key at the top, as in Rails, becomes `target_language`.
    """
    reader = _YamlReader(text, name)
    parts: list[Message | Replacement] = []
    for root in reader.documents():
        locale = locale_root(root, name)
        if locale is None and not any_content and (root.members or root.text):
            reject_other_data(root, name, "yml")
        if locale is not None and target_language is not None:
            start, end = locale.key_span
            parts.append(Replacement(start, end, _spell_key(target_language, text[start])))
        for value in message_values(root):
            content = read_message(value.text or "")
            if content is not None:
                style = reader.scalar_style(value)
                parts.append(Message(value.start, value.end, content, style.write))
    return MessageTemplate(text, parts)


class _YamlReader:
    """Reads YAML documents into values with positions."""

    def __init__(self, text: str, name: str) -> None:
        self._text, self._name = text, name
        self._ascii_only = text.isascii() and UNICODE_ESCAPE.search(text) is not None
        self._flow_scalars: set[int] = set()

    def documents(self) -> Iterator[KeyedValue]:
        """Yield the root of each document in the file."""
        if "\0" in self._text:
            line = self._text.count("\n", 0, self._text.index("\0")) + 1
            raise DataError(f"{self._name} line {line} has the character NUL, which YAML does not allow")
        try:
            yield from self._documents()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = "" if mark is None else f" line {mark.line + 1}"
            raise DataError(f"{self._name}{line} is not valid YAML: {error.problem}") from None
        except yaml.reader.ReaderError as error:
            line = self._text.count("\n", 0, error.position) + 1
            raise DataError(f"{self._name} line {line} is not valid YAML: {error.reason}") from None

    def scalar_style(self, value: KeyedValue) -> YamlScalarStyle:
        """Return how a scalar is written."""
        original = self._text[value.start : value.end]
        indent = block_indent(original, value.text or "") if value.style in ("|", ">") else 0
        in_flow = value.start in self._flow_scalars
        return YamlScalarStyle(value.style, original, indent, in_flow, self._ascii_only)

    def _documents(self) -> Iterator[KeyedValue]:
        open_values: list[KeyedValue] = []
        keys: list[KeyedValue | None] = []  # the key that waits for its value, for each open mapping
        flow_depth = 0
        for event in yaml.parse(self._text, Loader=YAML_LOADER):
            if isinstance(event, yaml.CollectionEndEvent):
                value = open_values.pop()
                keys.pop()
                flow_depth -= value.style == "flow"
                if not open_values:
                    yield value
                continue
            if not isinstance(event, yaml.NodeEvent):
                continue
            value = self._value(event)
            container = open_values[-1] if open_values else None
            if container is not None and container.members is not None:
                key = keys[-1]
                if container.is_mapping and key is None:
                    keys[-1] = value
                else:
                    value.key = container.key if key is None else key.text or self._text[key.start : key.end]
                    value.key_span = (0, 0) if key is None else (key.start, key.end)
                    container.members.append(value)
                    keys[-1] = None
            if isinstance(event, yaml.CollectionStartEvent):
                value.style = "flow" if event.flow_style else ""
                flow_depth += value.style == "flow"
                open_values.append(value)
                keys.append(None)
                if len(open_values) > MAX_KEYED_DEPTH:
                    line = event.start_mark.line + 1
                    raise DataError(
                        f"{self._name} line {line} is nested more than {MAX_KEYED_DEPTH} levels deep"
                    )
            elif flow_depth:
                self._flow_scalars.add(value.start)
            if container is None and isinstance(event, yaml.ScalarEvent):
                yield value

    def _value(self, event: yaml.NodeEvent) -> KeyedValue:
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.CollectionStartEvent):
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            return KeyedValue("", start, end, members=[], is_mapping=is_mapping)
        if not isinstance(event, yaml.ScalarEvent):
            return KeyedValue("", start, end, "")  # an alias
        start, end = scalar_span(self._text, start, end, event.anchor is not None or event.tag is not None)
        quote = event.style or ""
        is_text = event.tag in STRING_TAGS and (
            bool(quote) or (event.tag is not None or is_string(event.value))
        )
        text = event.value if is_text or not event.value else None
        return KeyedValue("", start, end, text, style=quote)


def _spell_key(language: str, first: str) -> str:
    """Spell a language as a key in the style of the one it replaces; no (Norwegian) would be a boolean."""
    quote = first if first in "'\"" else "" if is_plain(language, in_flow=True) else '"'
    return f"{quote}{language}{quote}"
