"""One text or several, and settings as plain keywords of `translate`."""

from dataclasses import replace

import pandas as pd
import pytest
import torch

from regard.errors import ConfigError, DataError
from regard.model.transformer import Transformer
from regard.search.config import Sampling, SearchConfig
from regard.text.glossary import Glossary
from regard.text.tokenizer import learn_tokenizer
from regard.translation.keywords import build_glossary, build_translate_settings
from regard.translation.options import DEFAULT_OPTIONS, TranslateOptions
from regard.translation.translator import Translator

TEXTS = ["the cat sees the dog.", "the dog sees a bird.", "a bird sings."] * 3
TEXT, OTHER = "the cat sings.", "a dog"


@pytest.fixture(scope="module")
def translator():
    from conftest import MICRO

    tokenizer = learn_tokenizer(TEXTS, 300)
    torch.manual_seed(0)
    model = Transformer(replace(MICRO, vocab_size=tokenizer.vocab_size, max_length=24)).eval()
    return Translator.from_model(model, tokenizer)


def test_one_text_has_one_translation_and_a_list_has_a_list(translator):
    several = translator.translate([TEXT, OTHER])
    assert translator.translate(TEXT) == several[0]
    assert translator.translate([TEXT]) == several[:1]
    assert translator.translate("") == ""
    assert translator.translate_detailed(TEXT) == translator.translate_detailed([TEXT, OTHER])[0]


def test_several_texts_may_be_any_iterable_of_texts(translator):
    expected = translator.translate([TEXT, OTHER])
    for texts in ((TEXT, OTHER), iter([TEXT, OTHER]), pd.Series([TEXT, OTHER], index=[7, 3])):
        assert translator.translate(texts) == expected


def test_n_best_gives_a_list_for_each_text(translator):
    detailed = translator.translate_detailed([TEXT, OTHER], SearchConfig(n_best=3))
    expected = [[each.text, *(other.text for other in each.alternatives)] for each in detailed]
    assert [len(row) for row in expected] == [3, 3]
    assert translator.translate([TEXT, OTHER], n_best=3) == expected
    assert translator.translate(TEXT, n_best=3) == expected[0]
    assert translator.translate(TEXT, n_best=1) == expected[0][:1]


def test_n_best_raises_a_beam_that_is_not_given(translator):
    assert len(translator.translate(TEXT, n_best=6)) == 6
    with pytest.raises(ConfigError, match="a beam of 2 finds at most 2; raise beam"):
        translator.translate(TEXT, n_best=6, beam=2)


@pytest.mark.parametrize(
    ("keywords", "search", "options"),
    [
        ({"beam": 2, "alpha": 1.0}, SearchConfig(2, 1.0), {}),
        ({"max_length": 5, "min_length": 2}, SearchConfig(max_length=5, min_length=2), {}),
        (
            {"no_repeat_ngram": 2, "allow_unknown": False},
            SearchConfig(4, 0.6, 1, 0, None, None, 2, False),
            {},
        ),
        ({"temperature": 0.5, "seed": 3}, SearchConfig(sampling=Sampling(0.5, seed=3)), {}),
        ({"top_k": 5, "top_p": 0.9}, SearchConfig(sampling=Sampling(top_k=5, top_p=0.9)), {}),
        ({"prefix": "Où", "long_text": "cut"}, SearchConfig(), {"prefix": "Où", "long_text": "cut"}),
        (
            {"required": "a b", "forbidden": ["c"]},
            SearchConfig(),
            {"required": ("a b",), "forbidden": ("c",)},
        ),
        ({"require": ["a"], "forbid": "c"}, SearchConfig(), {"required": ("a",), "forbidden": ("c",)}),
        ({"glossary": {"a": "b"}}, SearchConfig(), {"glossary": Glossary((("a", "b"),))}),
        (
            {"alignments": True, "confidences": True},
            SearchConfig(),
            {"alignments": True, "confidences": True},
        ),
        ({"deterministic": True}, SearchConfig(), {"deterministic": True}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_each_keyword_is_a_field_of_the_settings(keywords, search, options):
    built = build_translate_settings(SearchConfig(), DEFAULT_OPTIONS, None, keywords)
    assert built == (search, TranslateOptions(**options))


def test_keywords_replace_fields_of_the_objects_and_keep_the_others():
    search, options = SearchConfig(beam=8, alpha=1.0), TranslateOptions(prefix="a", forbidden=("b",))
    built = build_translate_settings(search, options, 2, {"alpha": 0.5, "prefix": "c"})
    assert built == (
        SearchConfig(beam=8, alpha=0.5, n_best=2),
        TranslateOptions(prefix="c", forbidden=("b",)),
    )


def test_keywords_do_what_the_objects_do(translator):
    search = SearchConfig(beam=2, max_length=6)
    options = TranslateOptions(prefix="a bird", alignments=True)
    expected = translator.translate_detailed([TEXT], search, options)
    keywords = translator.translate_detailed([TEXT], beam=2, max_length=6, prefix="a bird", alignments=True)
    assert keywords == expected
    assert expected[0].text.startswith("a bird")
    assert expected[0].alignment is not None
    assert translator.translate(TEXT, search=search, options=options) == expected[0].text
    assert "dog" in translator.translate(TEXT, require="dog", max_length=20)


@pytest.mark.parametrize(
    ("keyword", "advice"),
    [
        ("baem", "did you mean beam?"),
        ("forbiden", "did you mean forbidden"),
        ("num_beams", "did you mean beam?"),
        ("num_return_sequences", "did you mean n_best?"),
        ("xyz", "there are alignments, allow_unknown, alpha,"),
    ],
)
def test_an_unknown_keyword_is_named_with_the_closest(translator, keyword, advice):
    for translate in (translator.translate, translator.translate_detailed):
        with pytest.raises(TypeError, match=f"no keyword '{keyword}'; {advice}".replace("?", r"\?")):
            translate(TEXT, **{keyword: 3})


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"require": "a", "required": "b"}, "both require and required"),
        ({"beam": 4, "temperature": 0.5}, "both beam and temperature"),
        ({"glossary": 5}, "glossary takes a Glossary, a dict, or the path of a file, not int"),
        ({"glossary": {"a": " "}}, "both must be text, and not blank"),
        ({"glossary": {"a": [3]}}, "both must be text, and not blank"),
    ],
)
def test_keywords_that_cannot_work_are_refused(keywords, message):
    with pytest.raises(TypeError, match=message):
        build_translate_settings(SearchConfig(), DEFAULT_OPTIONS, None, keywords)


def test_a_glossary_is_a_mapping_or_a_file(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("cat\tchat\ncat\tmatou\n", encoding="utf-8")
    expected = Glossary((("cat", "chat"), ("cat", "matou")))
    for glossary in ({"cat": ["chat", "matou"]}, path, str(path), expected):
        assert build_glossary(glossary) == expected
    assert build_glossary(None) == Glossary()
    with pytest.raises(DataError, match="missing.tsv"):
        build_glossary(tmp_path / "missing.tsv")
