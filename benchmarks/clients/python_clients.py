"""Python clients of LibreTranslate and DeepL, unchanged, against a server; one line of JSON for each check.

    python python_clients.py http://127.0.0.1:5000 FOLDER

Runs with the Python whose packages it tests. The server translates en-fr, fr-en, en-es and es-en.
"""

import importlib.metadata
import json
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

URL = sys.argv[1]
FOLDER = Path(sys.argv[2])
TEXT = "the cat sees a bird."
CHECKS: list[tuple[str, str, Callable[[], object]]] = []


def check(package: str, name: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    def add(function: Callable[[], object]) -> Callable[[], object]:
        CHECKS.append((package, name, function))
        return function

    return add


def require(condition: object, shown: object) -> None:
    if not condition:
        raise AssertionError(repr(shown)[:300])


def libretranslate() -> Any:
    from libretranslatepy import LibreTranslateAPI

    return LibreTranslateAPI(f"{URL}/", "any-key")


@check("libretranslatepy", "translate")
def libre_translate() -> None:
    answer = libretranslate().translate(TEXT, "en", "fr")
    require(isinstance(answer, str) and answer, answer)


@check("libretranslatepy", "detect")
def libre_detect() -> None:
    answer = libretranslate().detect(TEXT)
    require(answer[0]["language"] == "en" and answer[0]["confidence"] > 0, answer)


@check("libretranslatepy", "languages")
def libre_languages() -> None:
    answer = libretranslate().languages()
    require({"en", "fr"} <= {each["code"] for each in answer}, answer)


@check("deep-translator", "LibreTranslator.translate")
def deep_libre() -> None:
    from deep_translator import LibreTranslator

    translator = LibreTranslator("en", "fr", api_key="any", custom_url=f"{URL}/")
    require(translator.translate(TEXT), "")


@check("deep-translator", "LibreTranslator.translate_batch")
def deep_libre_batch() -> None:
    from deep_translator import LibreTranslator

    translator = LibreTranslator("auto", "fr", api_key="any", custom_url=f"{URL}/")
    require(all(translator.translate_batch([TEXT, "the dog sleeps in the house."])), "")


@check("deep-translator", "DeeplTranslator.translate")
def deep_deepl() -> None:
    from deep_translator import DeeplTranslator

    translator = DeeplTranslator("en", "fr", api_key="any")
    translator._base_url = f"{URL}/v2/"
    require(translator.translate(TEXT), "")


def deepl_client() -> Any:
    import deepl

    return deepl.DeepLClient("any", server_url=URL)


@check("deepl", "translate_text, lists, detection")
def deepl_text() -> None:
    results = deepl_client().translate_text([TEXT, "the dog sleeps."], target_lang="FR")
    require(all(each.detected_source_lang == "EN" and each.text for each in results), results)
    require(results[0].billed_characters == len(TEXT), results[0].billed_characters)


@check("deepl", "translate_text, tags and regions")
def deepl_tags() -> None:
    result = deepl_client().translate_text(
        'le chat <x id="1"/>.', source_lang="FR", target_lang="EN-US", tag_handling="xml", ignore_tags="x"
    )
    require('<x id="1"/>' in result.text, result.text)


@check("deepl", "languages and usage")
def deepl_languages() -> None:
    client = deepl_client()
    require("EN" in {each.code for each in client.get_source_languages()}, "")
    require("EN-GB" in {each.code for each in client.get_target_languages()}, "")
    require(client.get_usage().character.valid, "")
    require(client.get_glossary_languages(), "")


@check("deepl", "glossary v2")
def deepl_glossary() -> None:
    client = deepl_client()
    glossary = client.create_glossary("v2", "EN", "FR", {"cat": "matou", "dog": "chien"})
    require(client.get_glossary_entries(glossary) == {"cat": "matou", "dog": "chien"}, glossary)
    result = client.translate_text(TEXT, source_lang="EN", target_lang="FR", glossary=glossary)
    require("matou" in result.text.lower(), result.text)
    client.delete_glossary(glossary)


@check("deepl", "glossary v3")
def deepl_multilingual_glossary() -> None:
    from deepl.api_data import MultilingualGlossaryDictionaryEntries

    client = deepl_client()
    pair = MultilingualGlossaryDictionaryEntries("EN", "FR", {"bird": "oiseau"})
    glossary = client.create_multilingual_glossary("v3", [pair])
    result = client.translate_text(TEXT, source_lang="EN", target_lang="FR", glossary=glossary)
    require("oiseau" in result.text.lower(), result.text)
    client.delete_multilingual_glossary(glossary)


@check("deepl", "document")
def deepl_document() -> None:
    path, output = FOLDER / "page.html", FOLDER / "page.fr.html"
    path.write_text(f"<html><p>{TEXT}</p><p translate='no'>keep</p></html>")
    deepl_client().translate_document_from_filepath(path, output, source_lang="EN", target_lang="FR")
    require("<p translate='no'>keep</p>" in output.read_text(), output.read_text())


def call(path: str, body: Any = None, headers: Mapping[str, str] | None = None, form: bool = False) -> Any:
    """Send a request as a client that is replayed would."""
    content, headers = None, dict(headers or {})
    if form:
        content = urllib.parse.urlencode(body, doseq=True).encode()
    elif body is not None:
        content = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    with urllib.request.urlopen(urllib.request.Request(URL + path, content, headers)) as response:
        return json.load(response)


DEEPL_KEY = {"Authorization": "DeepL-Auth-Key any"}


@check("Weblate's requests", "LibreTranslate machinery")
def weblate_libretranslate() -> None:
    require({"en", "fr"} <= {each["code"] for each in call("/languages")}, "")
    texts = [f"the cat {n} sees a bird." for n in range(20)]
    answer = call("/translate", {"api_key": "", "q": texts, "source": "en", "target": "fr"})
    require(len(answer["translatedText"]) == 20, answer)


@check("Weblate's requests", "DeepL machinery")
def weblate_deepl() -> None:
    for kind in ("source", "target"):
        languages = call(f"/v2/languages?type={kind}", None, DEEPL_KEY)
        require(all(each["language"] for each in languages), languages)
    require(call("/v2/glossary-language-pairs", None, DEEPL_KEY)["supported_languages"], "")
    body = {
        "text": [f'the cat <x id="{n}"></x> sees {n} birds.' for n in range(20)],
        "source_lang": "EN",
        "target_lang": "FR",
        "formality": "default",
        "context": "animals",
        "tag_handling": "xml",
        "ignore_tags": ["x"],
    }
    answer = call("/v2/translate", body, DEEPL_KEY)["translations"]
    require(all(f'<x id="{n}"></x>' in each["text"] for n, each in enumerate(answer)), answer)
    glossary = {"name": "weblate:1", "source_lang": "EN", "target_lang": "FR", "entries_format": "tsv"}
    made = call("/v2/glossaries", {**glossary, "entries": "cat\tmatou"}, DEEPL_KEY)
    listed = call("/v2/glossaries", None, DEEPL_KEY)["glossaries"]
    require(made["glossary_id"] in {each["glossary_id"] for each in listed}, listed)
    body["glossary_id"] = made["glossary_id"]
    answer = call("/v2/translate", body, DEEPL_KEY)["translations"]
    require(all("matou" in each["text"].lower() for each in answer), answer)


@check("Mastodon's requests", "LibreTranslate and DeepL")
def mastodon() -> None:
    status = "<p>the cat sees <a href='https://example.org'>a bird</a></p>"
    body = {"q": [status], "source": "en", "target": "fr", "format": "html", "api_key": ""}
    answer = call("/translate", body)
    require("<a href='https://example.org'>" in answer["translatedText"][0], answer)
    fields = {"text": [status, "a"], "source_lang": "EN", "target_lang": "FR", "tag_handling": "html"}
    require(len(call("/v2/translate", fields, DEEPL_KEY, form=True)["translations"]) == 2, "")


def main() -> None:
    for package, name, function in CHECKS:
        is_replay = package.endswith("requests")
        try:
            version = "" if is_replay else importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        try:
            function()
            problem = ""
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"[:300]
        print(json.dumps([package, version, name, problem]), flush=True)


main()
