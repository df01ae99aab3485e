"""Glossary terms stand in place of the words that the model would write for their phrases."""

import math
from itertools import product

import numpy as np
import pytest
import torch

from oracles import satisfies
from regard.inference.alignment import ForcedDecoding
from regard.inference.engine import UNSATISFIABLE
from regard.model.transformer import Transformer
from regard.search.config import SearchConfig
from regard.search.constraints import NO_CONSTRAINTS
from regard.search.hypothesis import Hypothesis
from regard.text.glossary import Glossary
from regard.text.tokenizer import PAD, learn_tokenizer
from regard.translation.engines import LoadedModel
from regard.translation.options import TranslateOptions
from regard.translation.phrases.constraint_compiler import ConstraintCompiler
from regard.translation.phrases.glossary_placement import TranslatedWord, find_term
from regard.translation.phrases.glossary_search import GlossarySearch
from regard.translation.translator import Translator

LEXICON = {
    "the": ["das", "die"],
    "house": ["Haus", "Haus Gebäude", "Haus am Gebäude", "Wohnhaus Gebäude", "Gebäude"],
    "building": ["Gebäude"],
    "home": ["Haus"],
    "car": ["Auto", "Autobahn Auto", "Autobahn"],
    "tower": ["Turm", "Turm Kirchturm hoch", "Kirchturm hoch"],
    "and": ["und"],
    "sees": ["sieht"],
    "small": ["kleine", "kleine winzig"],
    "猫": ["猫", "犬猫", "犬"],
}
"""The translations of each word, the most probable first; some write a term beside the usual word."""
TEXTS = [" ".join(LEXICON), *(option for options in LEXICON.values() for option in options)] * 20


@pytest.fixture(scope="module")
def tokenizer():
    return learn_tokenizer(TEXTS, 420)


class WordModel:
    """Translates word by word; its search and its forced decoding know which word stands for which."""

    def __init__(self, tokenizer):
        self.tokenizer, self.full, self.alignments = tokenizer, [], {}
        self.searched, self.sources = [], []

    def search(self, sources, constraints):
        self.searched.append(constraints)
        self.sources += sources
        return [[self.best(*pair)] for pair in zip(sources, constraints, strict=True)]

    def best(self, source, constraints):
        """Return the most probable translation that satisfies the constraints, also of a hidden source."""
        full = next((each for each in self.full if len(each) == len(source)), source)
        if PAD not in source:
            full = source
            self.full.insert(0, tuple(source))
        options = [list(enumerate(LEXICON[word])) for word in self.words(full)]
        ranked = sorted(product(*options), key=lambda chosen: sum(rank for rank, _ in chosen))
        for chosen in ranked:
            (ids,) = self.tokenizer.tokenize([" ".join(text for _, text in chosen)])
            if satisfies(constraints, tuple(ids)):
                texts = [text for _, text in chosen]
                self.alignments[tuple(ids)] = [n for n, text in enumerate(texts) for _ in text.split()]
                score = -1.0 - sum(rank for rank, _ in chosen)
                return Hypothesis(tuple(ids), score, score)
        return UNSATISFIABLE

    def words(self, source):
        return self.tokenizer.detokenize([source])[0].split()

    def force_decode(self, sources, targets):
        return [self.decode(*pair) for pair in zip(sources, targets, strict=True)]

    def decode(self, source, target):
        """Attend from each word to the source word that it translates, and lose 5 nats if that is hidden."""
        full = next(each for each in self.full if len(each) == len(source))
        starts = self.positions(full)
        attention, logs = np.zeros((len(target) + 1, len(source) + 1)), []
        places = self.positions(target)
        for token in range(len(target)):
            word = max(n for n, start in enumerate(places) if start <= token)
            own = self.alignments[target][word]
            attention[token, starts[own]] = 1.0
            logs.append(-6.0 if source[starts[own]] == PAD else -1.0)
        return ForcedDecoding((*logs, -0.1), attention)

    def positions(self, ids):
        texts = [self.tokenizer.detokenize([ids[:n]])[0] for n in range(len(ids) + 1)]
        counts = [len(text.split()) for text in texts]
        return [next(n for n in range(len(ids)) if counts[n + 1] > word) for word in range(counts[-1])]


def place(tokenizer, text, *entries, base=NO_CONSTRAINTS):
    model = WordModel(tokenizer)
    compiler = ConstraintCompiler(tokenizer, TranslateOptions())
    glossary = GlossarySearch(tokenizer, Glossary(entries), compiler.token_variants, model.force_decode)
    (source,) = tokenizer.tokenize([text])
    ((best, *_),), (misplaced,) = glossary.search([source], [text], [base], model.search)
    return tokenizer.detokenize([best.tokens])[0], misplaced, model


@pytest.mark.parametrize(
    ("text", "entries", "translation"),
    [
        ("the house", [("house", "Gebäude")], "das Gebäude"),
        ("house and house", [("house", "Gebäude")], "Gebäude und Gebäude"),
        (
            "the house sees the car",
            [("house", "Gebäude"), ("car", "Autobahn")],
            "das Gebäude sieht das Autobahn",
        ),
        ("the tower", [("tower", "Kirchturm hoch")], "das Kirchturm hoch"),
        ("the building and the house", [("house", "Gebäude")], "das Gebäude und das Gebäude"),
        ("猫", [("猫", "犬")], "犬"),
    ],
)
def test_a_term_replaces_the_word_that_stands_for_its_phrase(tokenizer, text, entries, translation):
    assert place(tokenizer, text, *entries)[:2] == (translation, ())


def test_a_term_that_the_free_translation_has_is_not_searched_for(tokenizer):
    text, misplaced, model = place(tokenizer, "the house", ("house", "Haus"))
    assert (text, misplaced) == ("das Haus", ())
    assert model.searched == [[NO_CONSTRAINTS]]


def test_the_sentence_is_searched_with_the_phrase_visible_and_hidden(tokenizer):
    _, _, model = place(tokenizer, "the house", ("house", "Gebäude"))
    (source,) = tokenizer.tokenize(["the house"])
    start = model.positions(source)[1]
    hidden = (*source[:start], *[PAD] * (len(source) - start))
    assert model.sources[:3] == [tuple(source), tuple(source), hidden]


def test_a_displaced_word_that_translates_another_word_stays(tokenizer):
    """It cannot be forbidden, so the term is written at its place instead."""
    text, misplaced, _ = place(tokenizer, "the house and the home", ("house", "Gebäude"))
    assert (text, misplaced) == ("das Gebäude und das Haus", ())


def test_a_term_that_cannot_take_its_place_is_described(tokenizer):
    text, misplaced, _ = place(tokenizer, "the small house", ("small", "winzig"))
    assert text == "das kleine winzig Haus"
    assert misplaced == ("small -> winzig",)
    text, misplaced, _ = place(tokenizer, "the house", ("house", "Turm"))
    assert (text, misplaced) == ("das Haus", ("house -> Turm",))


def test_the_other_constraints_of_a_sentence_hold_as_well(tokenizer):
    compiler = ConstraintCompiler(tokenizer, TranslateOptions(prefix="die", required=("Gebäude", "und")))
    base = compiler.compile(is_first_part=True)
    text, misplaced, _ = place(tokenizer, "the house and the car", ("house", "Gebäude"), base=base)
    assert (text, misplaced) == ("die Gebäude und das Auto", ())


def words_of(text):
    return [TranslatedWord(word, (n,)) for n, word in enumerate(text.split())]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("la gare , une gare", [range(1, 2), range(4, 5)]),
        ("Gare . Gare", [range(0, 1), range(2, 3)]),
        ("la Gare", []),
        ("la gare centrale", [range(1, 3)]),
        ("la garement", []),
        ("", []),
    ],
)
def test_a_term_is_found_as_whole_words_and_capitalized_at_a_beginning(text, places):
    assert find_term(words_of(text), ["gare", "gare centrale"]) == places


@pytest.fixture
def translator(micro, tokenizer):
    torch.manual_seed(0)
    model = Transformer(micro.__class__(**{**vars(micro), "vocab_size": tokenizer.vocab_size})).eval()
    return Translator.from_model(model, tokenizer)


@pytest.mark.parametrize("search", [SearchConfig(), SearchConfig(beam=1), SearchConfig(n_best=3)], ids=str)
def test_a_text_without_a_phrase_is_translated_as_without_a_glossary(translator, search):
    texts = ["the house and the car", "the tower", "sees the small tower", ""]
    options = TranslateOptions(glossary=Glossary((("house", "Gebäude"), ("car", "Autobahn"))))
    results = translator.translate_detailed(texts, search, options)
    assert results[1:] == translator.translate_detailed(texts[1:], search)
    best = results[0]
    assert {"Gebäude", "Autobahn"} <= set(best.text.replace(".", " ").split()) or best.misplaced_terms
    assert math.isfinite(best.log_probability)


def test_terms_of_the_parts_of_a_long_text_are_described_together(translator):
    text = "the house sees the car . " * 12
    options = TranslateOptions(glossary=Glossary((("house", "x" * 30),)))
    (result,) = translator.translate_detailed([text.strip()], SearchConfig(max_length=8), options)
    assert result.status == "split"
    assert result.misplaced_terms == ("house -> " + "x" * 30,)


def test_an_engine_without_forced_decoding_refuses_glossaries(tokenizer):
    from fake_engines import EchoEngine
    from regard.errors import ConfigError

    options = TranslateOptions(glossary=Glossary((("house", "Gebäude"),)))
    translator = Translator(LoadedModel(EchoEngine(), tokenizer))
    assert translator.translate(["the car"], options=options) == ["the car"]
    with pytest.raises(ConfigError, match="this engine has no glossaries; choose the engine torch"):
        translator.translate(["the house"], options=options)
