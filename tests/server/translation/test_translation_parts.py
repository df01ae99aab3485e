"""Settings, languages, detection and segments of the translation server, without a model process."""

import math
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import CheckpointError, ConfigError, RegardError
from regard.server.translation.language_codes import language_name, match_language
from regard.server.translation.language_detection import LanguageDetector
from regard.server.translation.requests import TextRequest, UnsupportedLanguageError, UnsureLanguageError
from regard.server.translation.serve_settings import ModelSettings, read_serve_settings
from regard.server.translation.served_models import LanguageRouter, has_changed, read_model_version
from regard.server.translation.text_segments import split_text
from server.random_model import save_random

SETTINGS = """
[models.en-fr]
path = "runs/en-fr"
source_language = "en"
target_language = "fr"

[models.fr-en]
path = "/models/fr-en"
threads = 2

[limits]
texts = 20

[search]
pivot = ["en"]

[access]
keys_file = "keys.sqlite"
"""


def write_settings(folder, text):
    (folder / "serve.toml").write_text(text)
    return folder / "serve.toml"


def test_settings_are_read_with_paths_from_their_folder(tmp_path):
    settings = read_serve_settings(write_settings(tmp_path, SETTINGS))
    assert settings.models["en-fr"].path == str(tmp_path / "runs/en-fr")
    assert (settings.models["fr-en"].path, settings.models["fr-en"].threads) == ("/models/fr-en", 2)
    assert settings.access.keys_file == str(tmp_path / "keys.sqlite")
    assert (settings.limits.texts, settings.limits.text_characters) == (20, 5000)
    assert settings.search.pivot == ("en",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no model to serve"),
        ("[models]\nen-fr = 3", r"models.en-fr = 3 cannot work; write \[models.en-fr\]"),
        ("[models.en-fr]", "models.en-fr.path = '' cannot work; give the model folder"),
        ('[models.en-fr]\npath = "a"\nengin = "torch"', "models.en-fr.engin is not a setting; did you mean"),
        (
            '[models.en-fr]\npath = "a"\nengine = "x"',
            "models.en-fr.engine = 'x' cannot work; it must be auto",
        ),
        (
            '[models.en-fr]\npath = "a"\nthreads = 0',
            "models.en-fr.threads = 0 cannot work; it must be at least 1",
        ),
        ('[models.en-fr]\npath = "a"\nsource_language = "e n"', "language = 'e n' cannot work"),
        ('[models."a b"]\npath = "a"', r"\[models.a b\] cannot work; a name has letters"),
        ('[models.m]\npath = "a"\n[limits]\ntexts = "3"', "limits.texts = '3' cannot work"),
        ('[models.m]\npath = "a"\n[limits]\ndeadline_seconds = 0', "deadline_seconds = 0.0 cannot work"),
        (
            '[models.m]\npath = "a"\n[limit]\ntexts = 3',
            r"\[limit\] is not a section; there are models, limits",
        ),
        ('port = 3\n[models.m]\npath = "a"', "port stands outside a section"),
        ("[models", "is not valid TOML"),
    ],
)
def test_a_mistake_in_the_settings_is_named_in_one_line(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message) as error:
        read_serve_settings(write_settings(tmp_path, text))
    assert "serve.toml" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("code", "served", "expected"),
    [
        ("en", ["en", "fr"], "en"),
        ("EN-US", ["en", "fr"], "en"),
        ("pt", ["en", "pt-BR"], "pt-BR"),
        ("pt-PT", ["en", "pt-BR"], None),
        ("pb", ["pt-BR", "pt"], "pt-BR"),
        ("zh-TW", ["zh-Hans", "zh-Hant"], "zh-Hant"),
        ("zh", ["zh-Hans", "zh-Hant"], None),
        ("nb", ["no"], "no"),
        ("zz", ["en"], None),
        ("", ["en"], None),
        ("en\n", ["en"], "en"),
    ],
)
def test_codes_of_clients_are_matched(code, served, expected):
    assert match_language(code, served) == expected


def test_languages_have_names():
    names = [language_name(code) for code in ("en", "pt-BR", "nb", "de-AT", "xx")]
    assert names == ["English", "Portuguese (Brazil)", "Norwegian Bokmål", "German (AT)", "xx"]


def test_a_route_has_one_model_or_two():
    pairs = {("de", "en"): "a", ("en", "fr"): "b", ("fr", "en"): "c", ("fr", "es"): "d"}
    router = LanguageRouter(pairs, ("en",))
    assert [router.find_route(*pair) for pair in [("de", "en"), ("de", "fr"), ("de", "de")]] == [
        ("a",),
        ("a", "b"),
        (),
    ]
    with pytest.raises(UnsupportedLanguageError) as error:
        router.route("de", "es")  # by fr, which is no pivot
    assert ("de", "fr") in error.value.pairs
    assert LanguageRouter(pairs, ()).find_route("de", "fr") is None


def test_the_languages_of_a_model_come_from_its_manifest_or_the_settings(tmp_path):
    folder = save_random(tmp_path / "m", 1, ("en", "fr"))
    version = read_model_version("m", ModelSettings(str(folder)))
    assert (version.source_language, version.target_language) == ("en", "fr")
    other = read_model_version("m", ModelSettings(str(folder), "de", "nl"))
    assert (other.source_language, other.target_language) == ("de", "nl")
    unknown = save_random(tmp_path / "u", 1, (None, None))
    with pytest.raises(ConfigError, match="does not say its source language; give --source-language"):
        read_model_version("m", ModelSettings(str(unknown)))
    with pytest.raises(CheckpointError, match="does not exist"):
        read_model_version("m", ModelSettings(str(tmp_path / "none")))


def test_a_replaced_folder_or_link_is_noticed(tmp_path):
    first, second = (save_random(tmp_path / f"v{seed}", seed) for seed in (1, 2))
    link = tmp_path / "current"
    link.symlink_to(first)
    version = read_model_version("m", ModelSettings(str(link)))
    assert not has_changed(version)
    link.unlink()
    link.symlink_to(second)
    assert has_changed(version)
    version = read_model_version("m", ModelSettings(str(second)))
    shutil.rmtree(second)
    assert has_changed(version)
    save_random(second, 3)
    assert has_changed(version)


@pytest.fixture(scope="module")
def detector():
    detector = LanguageDetector(["en", "de", "fr"])
    detector.load()
    return detector


SENTENCES = {
    "en": "Where did you put the book that I gave you?",
    "de": "Wohin hast du das Buch gelegt, das ich dir gab?",
    "fr": "Où as-tu mis le livre que je t'ai donné ?",
}


def test_three_words_tell_the_language(detector):
    for language, sentence in SENTENCES.items():
        start = " ".join(sentence.split()[:4])
        assert detector.detect_all([start], 0.6)[0].language == language


def test_what_is_not_clear_is_refused_with_the_candidates(detector):
    with pytest.raises(UnsureLanguageError, match="the language of text 2 is not clear: ") as error:
        detector.detect_all([SENTENCES["en"], "Hotel Taxi", SENTENCES["de"]], 0.99)
    assert error.value.text_index == 1
    assert math.isclose(sum(each.confidence for each in error.value.candidates), 1, abs_tol=0.01)


def test_a_text_without_letters_takes_the_language_of_the_others(detector):
    texts = ["123", SENTENCES["fr"], "", "!"]
    assert [each.language for each in detector.detect_all(texts, 0.6)] == ["fr"] * 4
    assert [each.confidence for each in detector.detect_all(["1", ""], 0.6)] == [0.0, 0.0]


def test_one_language_is_never_doubtful():
    detector = LanguageDetector(["eo"])
    assert detector.obstacle is None
    assert detector.detect_all(["x"], 0.9) == [("eo", 1.0)]


def test_a_missing_detector_is_named(monkeypatch):
    monkeypatch.setattr("regard.server.translation.language_detection.missing_package", lambda *_: "pip it")
    with pytest.raises(RegardError, match="this server cannot tell languages: pip it; name the language"):
        LanguageDetector(["en", "de"]).detect_all(["a"], 0.6)


ODD = st.text(st.sampled_from("aB .!?\n\r\t,é\u2028\u3002猫"), max_size=60)


@given(ODD)
def test_lines_are_put_back_where_they_were(text):
    split = split_text(text, TextRequest((text,), "fr"))
    assert all(segment.strip() == segment != "" for segment in split.segments)
    expected = "\n".join(line.strip() + ("\r" if line.endswith("\r") else "") for line in text.split("\n"))
    assert split.assemble(split.segments) == expected


@given(ODD)
def test_sentences_are_put_back_with_the_spaces_between_them(text):
    split = split_text(text, TextRequest((text,), "fr", segments="sentences"))
    assert "".join(split.assemble(split.segments).split()) == "".join(text.split())
    assert split.assemble(split.segments).count("\n") == text.count("\n")


def test_markup_stays_and_what_has_no_translation_too():
    page = "<p>One <b>two</b>. Three.</p><pre>four</pre>"
    split = split_text(page, TextRequest((page,), "fr", format="html"))
    assert split.segments == ("One two.", "Three.")
    assert split.assemble(["Un deux.", ""]) == "<p>Un <b>deux</b>. Three.</p><pre>four</pre>"
