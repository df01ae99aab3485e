import json
from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from regard.text.bpe import BytePairEncoder, pretokenize
from regard.text.tokenizer import BASE_VOCAB_SIZE, learn_tokenizer
from regard.text.vocab_extension import decompose_new_tokens, extend_tokenizer

OLD_TEXTS = ["the cat sees the dog.", "the dogs see a bird, a cat and a banana.", "naan bread"] * 5
NEW_TEXTS = ["the catamaran sails", "a catalogue of dogmas; the catamarans", "снег и снежинка 42"] * 4
OLD = learn_tokenizer(OLD_TEXTS, 320)
NEW = extend_tokenizer(OLD, NEW_TEXTS, 60)
OLD_TOKENS = decompose_new_tokens(OLD, NEW)
CHARACTERS = st.sampled_from([*"abcdeghilmnorstu the cat", "с", "н", "€", " ", ".", "4"])


def decompose(row):
    """Replace every new token by the old ones."""
    parts = [[id] if id < OLD.vocab_size else OLD_TOKENS[id - OLD.vocab_size] for id in row]
    return [id for part in parts for id in part]


@given(st.text(CHARACTERS, max_size=60))
def test_every_new_token_replaces_a_run_of_old_tokens(text):
    for each in (text, *OLD_TEXTS[:3], *NEW_TEXTS[:3]):
        (before,), (after,) = OLD.tokenize([each]), NEW.tokenize([each])
        assert decompose(after) == before  # so without a new token the ids are the old ids


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back_as_from_the_old_tokenizer(text):
    assert NEW.detokenize(NEW.tokenize([text])) == OLD.detokenize(OLD.tokenize([text]))


def test_old_tokens_keep_their_ids():
    assert [NEW.id_to_token(id) for id in range(OLD.vocab_size)] == [
        OLD.id_to_token(id) for id in range(OLD.vocab_size)
    ]


def test_a_new_token_spells_the_same_as_its_old_tokens():
    for place, parts in enumerate(OLD_TOKENS):
        assert len(parts) > 1 or parts[0] < BASE_VOCAB_SIZE  # a character that was bytes
        assert OLD.detokenize([parts]) == NEW.detokenize([[OLD.vocab_size + place]])


def test_the_new_corpus_gets_shorter_and_characters_get_tokens():
    before, after = (sum(map(len, each.tokenize(NEW_TEXTS))) for each in (OLD, NEW))
    assert after < 0.8 * before
    assert len(NEW.tokenize(["снег"])[0]) < len(OLD.tokenize(["снег"])[0])
    assert "с" in json.loads(NEW.to_json())["model"]["vocab"]


def test_new_tokens_are_limited_and_otherwise_exhaustive():
    assert extend_tokenizer(OLD, NEW_TEXTS, 7).vocab_size == OLD.vocab_size + 7
    everything = extend_tokenizer(OLD, NEW_TEXTS, 10_000)
    texts = pretokenize(everything, NEW_TEXTS)
    encoder = BytePairEncoder(everything)
    rows = [encoder.segment(texts.words[k]) for k in texts.word_ids]
    pairs = Counter(pair for row in rows for pair in pairwise(row))
    known = encoder.vocab
    assert not [
        p
        for p in pairs
        if everything.id_to_token(p[0]) + everything.id_to_token(p[1]) not in known and min(p) > 258
    ]


def test_merges_are_learned_as_byte_pair_encoding_defines():
    """Count all pairs again after each merge, and take the most frequent that makes a new spelling."""
    corpus = ["bandana cabaret bandanas catenation bathrobe"] * 2
    encoder, texts = BytePairEncoder(OLD), pretokenize(OLD, corpus)
    tokens = {id: token for token, id in encoder.vocab.items()}
    rows = [encoder.segment(texts.words[k]) for k in texts.word_ids]
    expected = []
    for _ in range(8):
        counts = Counter(pair for row in rows for pair in pairwise(row))
        allowed = [p for p in counts if tokens[p[0]] + tokens[p[1]] not in tokens.values()]
        best = min(allowed, key=lambda pair: (-counts[pair], pair))
        new = len(tokens)
        tokens[new] = tokens[best[0]] + tokens[best[1]]
        expected.append(tokens[new])
        for row in rows:
            for i in range(len(row) - 2, -1, -1):
                if tuple(row[i : i + 2]) == best:
                    row[i : i + 2] = [new]
    extended = extend_tokenizer(OLD, corpus, 8)
    assert [extended.id_to_token(OLD.vocab_size + n) for n in range(8)] == expected


def test_a_known_corpus_adds_no_tokens():
    same = extend_tokenizer(OLD, ["the cat sees the dog."], 50)
    assert decompose_new_tokens(OLD, same) == []
    assert same.to_json() == OLD.to_json()


def test_extending_is_deterministic():
    assert extend_tokenizer(OLD, NEW_TEXTS, 60).to_json() == NEW.to_json()


def test_words_are_counted_in_chunks(monkeypatch):
    monkeypatch.setattr("regard.text.vocab_extension.COUNTING_CHUNK", 2)
    assert extend_tokenizer(OLD, iter(NEW_TEXTS), 60).to_json() == NEW.to_json()


def test_an_extended_lower_case_tokenizer_lower_cases():
    old = learn_tokenizer(OLD_TEXTS, 300, lowercase=True)
    new = extend_tokenizer(old, ["CATAMARAN Catamaran"] * 2, 5)
    assert new.lowercase
    assert new.detokenize(new.tokenize(["Catamaran"])) == ["catamaran"]
