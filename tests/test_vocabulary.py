"""Names in the package are the terms of the field, and each of them has one meaning."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "regard"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
REPLACED = {
    "TranslateOptions": "Asked",
    "Constraints": "Wish Wishes Bans Bounds",
    "Translation.status": "fate note",
    "long_text": "Portion portions joined",
    "LineTranslator, BatchResult": "Commission Answered",
    "IncrementalDecoder, DecoderState, KVCache": "Lean lean Written Look Around Here",
    "GraphGreedy, GraphBeam": "Played played Greedily ByBeam",
    "stable_topk": "highest likeliest",
    "LoadedModel, FallbackEngine, EngineInfo": "Ready Spare How",
    "force_decode": "given read_given",
    "autoconfig": "plan chosen",
    "TrainingSetup": "Course course",
    "StepStats, LogInterval": "Gathered gathered Stretch stretch",
    "model_folder, write_model_files": "sealed fill_folder",
    "model_card, CardText, TrainingCost": "papers Words Spent",
    "findings, misalignment, dedup": "examination shift hashes",
    "head_importance, word_order": "matters permuted",
    "backtest, predict": "roll rolling foretell",
    "RequestQueue, TraceService": "Turns turns Desk desk Work Glance glance",
    "theme": "look",
    "reject_lone_surrogates": "halves",
}
"""The terms of the field, and the private words that they replaced."""
REPLACED_KEYS = {
    "importance": "matters",
    "logit_lens": "lens",
    "diverges_at": "leaves_at",
    "position_survival, word_order, token_mixers": "survives permuted mixers",
    "input, output, concat, visible": "read said joined seen",
    "sublayer, kind": "which",
    "mask_source": "hide_source",
    "max_error": "miss",
    "positions": "places",
    "tokens, vocabulary, tokenizer": "pieces",
    "validations_since_best": "waited",
}
"""The terms of fields and JSON keys, and the private words that they replaced."""
TASK_MODULES = {"autoconfig", "corpus", "model_folder", "run", "task", "tracing"}
"""Modules with the same role in each of the task packages."""
SHARED_MODULES = TASK_MODULES | {"config"}
"""`config` holds the settings dataclasses of its package."""
MAX_MODULES = 20
MAX_LINES, MAX_README_LINES = 450, 160


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def public_definitions(path: Path) -> list[str]:
    """Return the public classes and functions at the top level of a module."""
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in parse(path).body if isinstance(node, definitions) and not is_overload(node)]
    return [node.name for node in nodes if not node.name.startswith("_")]


def is_overload(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a definition is another signature of a function, for type checkers."""
    return any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list)


@cache
def fields_and_keys(path: Path) -> list[str]:
    """Return the annotated fields of the module's classes, and the text keys of its dictionaries."""
    names = []
    for node in ast.walk(parse(path)):
        match node:
            case ast.ClassDef():
                targets = [each.target for each in node.body if isinstance(each, ast.AnnAssign)]
                names += [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.Dict():
                keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
                names += [key for key in keys if isinstance(key, str)]
    return names


def is_command(path: Path) -> bool:
    """Return whether the module is that of a command, which is named after its verb."""
    return path.parent == SOURCE / "cli" / "verbs"


@pytest.mark.parametrize("term", REPLACED)
def test_no_module_class_or_function_has_a_replaced_name(term):
    words = set(REPLACED[term].split())
    names = [(path, name) for path in SOURCE.rglob("*.py") for name in (path.stem, *public_definitions(path))]
    assert [f"{path.relative_to(SOURCE)}: {name}" for path, name in names if name in words] == []


@pytest.mark.parametrize("term", REPLACED_KEYS)
def test_no_field_or_json_key_has_a_replaced_name(term):
    words = set(REPLACED_KEYS[term].split())
    paths = [path for path in MODULES if "phrasebook" not in path.parts]
    names = [(path, name) for path in paths for name in fields_and_keys(path)]
    assert [f"{path.relative_to(SOURCE)}: {name}" for path, name in names if name in words] == []


@pytest.mark.parametrize("term", REPLACED_KEYS)
def test_no_key_of_the_trace_schema_has_a_replaced_name(term):
    words = REPLACED_KEYS[term].split()
    schema = (SOURCE / "trace" / "trace.v1.schema.json").read_text(encoding="utf-8")
    assert [word for word in words if f'"{word}":' in schema or f'"const": "{word}"' in schema] == []


def test_every_class_and_function_name_is_defined_once():
    homes = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for name in sorted(set(public_definitions(path))):  # a function may have overloads
            if name != "main":  # what a module that is a program of its own starts with
                homes[name].append(path.relative_to(SOURCE).as_posix())
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_every_type_alias_is_defined_once():
    homes = defaultdict(list)
    for path in MODULES:
        for node in parse(path).body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            for name in (target.id for target in targets if isinstance(target, ast.Name)):
                if not name.isupper() and name[:1].isupper() and not name.endswith("T"):  # BatchT: a TypeVar
                    homes[name].append(path.relative_to(SOURCE).as_posix())
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_every_module_name_has_one_meaning():
    homes = defaultdict(list)
    for path in MODULES:
        if not is_command(path) and path.stem not in SHARED_MODULES:
            homes[path.stem].append(path.relative_to(SOURCE).as_posix())
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_no_folder_has_too_many_modules():
    folders = defaultdict(list)
    for path in MODULES:
        folders[path.parent].append(path.name)
    assert {str(folder): len(names) for folder, names in folders.items() if len(names) > MAX_MODULES} == {}


def test_no_module_is_too_long():
    paths = [path for path in MODULES if "phrasebook" not in path.parts]
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in paths}
    assert {str(path): count for path, count in lines.items() if count > MAX_LINES} == {}


def test_the_readme_is_short():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count("\n") <= MAX_README_LINES


def test_every_term_of_the_glossary_is_in_its_file():
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| (.+) \|$", GLOSSARY, re.MULTILINE)
    terms = {term: place for term, place in rows if term not in ("term", "---")}
    assert len(terms) > 60
    missing = []
    for term, place in terms.items():
        places = re.findall(r"\]\(([^)]+)\)((?:,? `[\w.]+`)*)", place)
        missing += [term] if not places else []
        for path, names in places:
            text = (ROOT / "docs" / path).read_text(encoding="utf-8")
            missing += [
                (term, name)
                for name in re.findall(r"`([\w.]+)`", names)
                if not re.search(rf"\b{name.rpartition('.')[2]}\b", text)
            ]
    assert missing == []
