"""Values of JSON and YAML files: which are texts, and whether the file holds messages at all."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from regard.errors import DataError

LANGUAGES = (
    "aa|ab|ae|af|ak|am|an|ar|as|av|ay|az|ba|be|bg|bh|bi|bm|bn|bo|br|bs|ca|ce|ch|co|cr|cs|cu|cv|cy|da|de|dv|dz"
    "|ee|el|en|eo|es|et|eu|fa|ff|fi|fj|fo|fr|fy|ga|gd|gl|gn|gu|gv|ha|he|hi|ho|hr|ht|hu|hy|hz|ia|id|ie|ig|ii|ik"
    "|io|is|it|iu|iw|ja|jv|ka|kg|ki|kj|kk|kl|km|kn|ko|kr|ks|ku|kv|kw|ky|la|lb|lg|li|ln|lo|lt|lu|lv|mg|mh|mi|mk"
    "|ml|mn|mr|ms|mt|my|na|nb|nd|ne|ng|nl|nn|no|nr|nv|ny|oc|oj|om|or|os|pa|pi|pl|ps|pt|qu|rm|rn|ro|ru|rw|sa|sc"
    "|sd|se|sg|si|sk|sl|sm|sn|so|sq|sr|ss|st|su|sv|sw|ta|te|tg|th|ti|tk|tl|tn|to|tr|ts|tt|tw|ty|ug|uk|ur|uz|ve"
    "|vi|vo|wa|wo|xh|yi|yo|za|zh|zu|ast|ckb|csb|dsb|fil|gsw|haw|hsb|kab|nds|scn|sco|tzm|yue"
)
LOCALE = re.compile(rf"(?:{LANGUAGES})(?:[-_](?:[A-Z][a-z]{{3}}|[A-Z]{{2}}|\d{{3}}))*", re.ASCII)
"""The code of a language of ISO 639-1, or of one of the others that programs are translated into."""
FILE_ENDINGS = (
    "png|jpe?g|gif|svg|webp|ico|css|s[ac]ss|m?js|jsx|tsx?|json|html?|ya?ml|xml|toml|md|txt|pdf|csv|py|rb|java"
    "|class|properties|sh|exe|zip|t?gz|mp[34]|ogg|wav|woff2?|ttf|php|go|rs|c|h|cpp|vue|lock|log|conf|ini"
)
CODE = re.compile(
    r"[A-Za-z][\w+.-]*://\S*|(?:mailto|tel|data|javascript):\S*|www\.\S+|[\w.+-]+@[\w-]+\.[\w.-]+"
    r"|\#[0-9A-Fa-f]{3,8}|(?:rgb|hsl)a?\([^()]*\)"
    rf"|(?:\.{{0,2}}/|~/|[A-Z]:\\)\S*|\S+/\S*\.\w{{1,5}}|[\w@./\\*-]+\.(?:{FILE_ENDINGS})"
    r"|[a-z]+(?:[A-Z][a-z0-9]*)+|[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+|\w*[A-Za-z0-9]_\w+"
    r"|[a-z]\w+(?:\.[A-Za-z]\w+)+|\w+(?:::\w+)+|@[\w-]+/[\w./-]+"
    r"|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|(?=[A-Za-z]*\d)[0-9a-f]{8,}|0x[0-9A-Fa-f]+"
    r"|[v^~<>=*]*\d+(?:\.[\dx*]+)+[\w.+-]*|(?:sha\d+-)?[A-Za-z0-9+/]{40,}={0,2}"
    r"|[a-z]{2,3}[-_](?:[A-Z]{2}|[A-Z][a-z]{3})|ltr|rtl|[a-z]+/[a-z0-9.+-]*[a-z][a-z0-9.+-]*\+?(?:json|xml)",
    re.ASCII,
)
"""URL, address, colour, path, identifier, hash, version, language code, media type: a value for programs."""
DATE_TOKEN = r"(?:yy(?:yy)?|YY(?:YY)?|M{1,4}|d{1,4}|DD?|HH?|hh?|mm?|ss?|S{1,3}|EEEE?|[aAZz])"
DATE_PATTERN = re.compile(rf"{DATE_TOKEN}(?:[\W\d_]+{DATE_TOKEN})+[\W\d_]*", re.ASCII)
"""The pattern of a date or time: dd.MM.yyyy, h:mm a."""
SETTING = re.compile(r"(?![A-Z][A-Za-z]*[.:!?,]?\Z)[!-~]+")
"""A word that settings contain: in ASCII, and not a capitalized word."""
LANGUAGE_KEYS = frozenset({"locale", "lang", "language", "langcode", "code", "iso", "id"})
"""Keys whose value is a language code, if it looks like one."""
ENTRY_TEXTS = ("message", "defaultMessage", "string")
ENTRY_NOTES = frozenset(
    {
        "character_limit",
        "comment",
        "comments",
        "context",
        "description",
        "developer_comment",
        "hash",
        "placeholders",
    }
)
"""The keys of an entry of a browser extension, of FormatJS or Transifex: its text, and what explains it."""
FOREIGN_KEYS = {
    ("lockfileVersion",): "a lock file",
    ("compilerOptions",): "a TypeScript configuration",
    ("manifest_version",): "the manifest of a browser extension",
    ("cells", "nbformat"): "a notebook",
    ("openapi",): "an OpenAPI description",
    ("swagger",): "an OpenAPI description",
    ("apiVersion", "kind"): "a Kubernetes object",
    ("type", "features"): "GeoJSON",
    ("type", "coordinates"): "GeoJSON",
    ("type", "geometry"): "GeoJSON",
    ("$schema", "properties"): "a JSON schema",
    ("type", "properties"): "a JSON schema",
    ("name", "version"): "the manifest of a package",
    ("on", "jobs"): "a workflow",
    ("description", "runs"): "a workflow action",
}
"""Keys at the top of files of other formats; the last has a value that is no text for readers."""
MAX_KEYED_DEPTH = 200


@dataclass
class KeyedValue:
    """A value at characters `start` to `end`, under its key; an item of a list has the key of the list."""

    key: str
    start: int
    end: int
    text: str | None = None
    """The text of a string; None for any other value."""
    members: list["KeyedValue"] | None = None
    """The values of a mapping or list."""
    is_mapping: bool = False
    key_span: tuple[int, int] = (0, 0)
    style: str = ""
    """The quotes of a scalar in YAML."""
    parent: "KeyedValue | None" = field(default=None, repr=False)

    def member(self, key: str) -> "KeyedValue | None":
        return next((value for value in self.members or () if value.key == key), None)


def is_code(text: str) -> bool:
    """Whether a text is for a program rather than for a reader."""
    text = text.strip()
    if not any(map(str.isalpha, text)):
        return True
    return CODE.fullmatch(text) is not None or DATE_PATTERN.fullmatch(text) is not None


def message_values(root: KeyedValue) -> Iterator[KeyedValue]:
    """Yield the values that are texts, in document order, without metadata and program values."""
    all_entries = _has_only_entries(root)
    pending = [root]
    while pending:
        value = pending.pop()
        if value.text is not None:
            if not _is_program_value(value):
                yield value
        elif value.is_mapping and (text := _entry_text(value, all_entries)) is not None:
            pending.append(text)
        else:
            pending += reversed([each for each in value.members or () if not _is_metadata_key(each.key)])


def reject_other_data(root: KeyedValue, name: str, extension: str) -> None:
    """Reject a file that plainly holds no messages.

    Messages are a mapping with more texts than other values. A text has several words, or is a word that
    starts with a capital or has letters other than a to z; a single small word is like those of settings.
    """
    advice = f"to translate its texts nevertheless, give --format {extension}"
    if root.members is None or not root.is_mapping:
        raise DataError(f"{name} is not a mapping of keys to messages; {advice}")
    for keys, kind in FOREIGN_KEYS.items():
        values = [value for key in keys if (value := root.member(key)) is not None]
        if len(values) == len(keys) and _is_for_programs(values[-1]):
            raise DataError(f"{name} is {kind} (it has {' and '.join(map(repr, keys))}); {advice}")
    texts, others = count_texts(root)
    if texts <= others and any((value.text or "").strip() for value in message_values(root)):
        raise DataError(
            f"{name} has {texts} texts and {others} other values (numbers, identifiers, paths), so it does "
            f"not look like a file of messages; {advice}"
        )


def count_texts(root: KeyedValue) -> tuple[int, int]:
    """Return the number of texts, and that of values for programs."""
    texts = others = 0
    pending = [root]
    while pending:
        value = pending.pop()
        if value.members is not None:
            pending += [each for each in value.members if not _is_metadata_key(each.key)]
        elif value.text is None or value.text.strip():
            is_other = _is_for_programs(value)
            texts, others = texts + (not is_other), others + is_other
    return texts, others


def locale_root(root: KeyedValue, name: str) -> KeyedValue | None:
    """Return the only value of a file whose one key is a language code (en: in Rails)."""
    members = root.members or []
    if not root.is_mapping or not members:
        return None
    if not all(LOCALE.fullmatch(value.key) and value.is_mapping for value in members):
        return None
    if len(members) > 1:
        languages = ", ".join(value.key for value in members[:10])
        raise DataError(f"{name} holds several languages ({languages}); keep only the one to translate from")
    return members[0]


def _is_for_programs(value: KeyedValue) -> bool:
    text = (value.text or "").strip()
    return not text or SETTING.fullmatch(text) is not None or is_code(text)


def _is_program_value(value: KeyedValue) -> bool:
    text = value.text or ""
    is_language = value.key.lower() in LANGUAGE_KEYS and LOCALE.fullmatch(text) is not None
    return is_language or is_code(text)


def _is_metadata_key(key: str) -> bool:
    """Whether the value under a key is for tools: @key of ARB, _comment, //."""
    return key.startswith(("@", "_comment", "//", "$schema"))


def _has_only_entries(root: KeyedValue) -> bool:
    values = [value for value in root.members or () if not _is_metadata_key(value.key)]
    return bool(values) and all(_entry_text(value, True) is not None for value in values)


def _entry_text(value: KeyedValue, all_entries: bool) -> KeyedValue | None:
    """Return the text of an entry with notes; a description alone is one only if all values are entries."""
    keys = {each.key for each in value.members or ()}
    notes = keys & ENTRY_NOTES
    if not value.is_mapping or not (all_entries or notes - {"description"}):
        return None
    texts = [each for each in value.members or () if each.key in ENTRY_TEXTS and each.text is not None]
    return texts[0] if len(texts) == 1 and (all_entries or keys == notes | {texts[0].key}) else None
