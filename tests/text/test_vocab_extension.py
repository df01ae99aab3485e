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
MADE_OF = decompose_new_tokens(OLD, NEW)
CHARACTERS = st.sampled_from([*"abcdeghilmnorstu the cat", "с", "н", "€", " ", ".", "4"])


def old_ids(row):
    """The ids with every new piece taken apart."""
    parts = [[id] if id < OLD.vocab_size else MADE_OF[id - OLD.vocab_size] for id in row]
    return [id for part in parts for id in part]


@given(st.text(CHARACTERS, max_size=60))
def test_every_new_piece_stands_where_a_run_of_old_ones_stood(text):
    for each in (text, *OLD_TEXTS[:3], *NEW_TEXTS[:3]):
        (before,), (after,) = OLD.tokenize([each]), NEW.tokenize([each])
        assert old_ids(after) == before  # and so, without a new piece, the ids are the old ids


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back_as_from_the_old_one(text):
    assert NEW.detokenize(NEW.tokenize([text])) == OLD.detokenize(OLD.tokenize([text]))


def test_old_pieces_keep_their_ids():
    assert [NEW.id_to_token(id) for id in range(OLD.vocab_size)] == [
        OLD.id_to_token(id) for id in range(OLD.vocab_size)
    ]


def test_new_pieces_spell_what_they_are_made_of():
    for place, parts in enumerate(MADE_OF):
        assert len(parts) > 1 or parts[0] < BASE_VOCAB_SIZE  # a letter that was a byte
        assert OLD.detokenize([parts]) == NEW.detokenize([[OLD.vocab_size + place]])


def test_the_new_corpus_gets_shorter_and_characters_get_pieces():
    before, after = (sum(map(len, each.tokenize(NEW_TEXTS))) for each in (OLD, NEW))
    assert after < 0.8 * before
    assert len(NEW.tokenize(["снег"])[0]) < len(OLD.tokenize(["снег"])[0])
    assert "с" in json.loads(NEW.to_json())["model"]["vocab"]


def test_no_more_pieces_than_asked_and_no_fewer_than_there_are():
    assert extend_tokenizer(OLD, NEW_TEXTS, 7).vocab_size == OLD.vocab_size + 7
    everything = extend_tokenizer(OLD, NEW_TEXTS, 10_000)
    words = pretokenize(everything, NEW_TEXTS)
    merges = BytePairEncoder(everything)
    rows = [merges.segment(words.words[k]) for k in words.word_ids]
    pairs = Counter(pair for row in rows for pair in pairwise(row))
    known = BytePairEncoder(everything).vocab
    assert not [
        p
        for p in pairs
        if everything.id_to_token(p[0]) + everything.id_to_token(p[1]) not in known and min(p) > 258
    ]


def test_pieces_are_learnt_as_the_definition_says():
    """Count all pairs again after each merge, and take the most frequent that makes a new spelling."""
    merges, words = (
        BytePairEncoder(OLD),
        pretokenize(OLD, ["bandana cabaret bandanas catenation bathrobe"] * 2),
    )
    spelled = {id: piece for piece, id in merges.vocab.items()}
    rows = [merges.segment(words.words[k]) for k in words.word_ids]
    expected = []
    for _ in range(8):
        seen = Counter(pair for row in rows for pair in pairwise(row))
        allowed = [p for p in seen if spelled[p[0]] + spelled[p[1]] not in spelled.values()]
        best = min(allowed, key=lambda pair: (-seen[pair], pair))
        new = len(spelled)
        spelled[new] = spelled[best[0]] + spelled[best[1]]
        expected.append(spelled[new])
        for row in rows:
            for at in range(len(row) - 2, -1, -1):
                if tuple(row[at : at + 2]) == best:
                    row[at : at + 2] = [new]
    found = extend_tokenizer(OLD, ["bandana cabaret bandanas catenation bathrobe"] * 2, 8)
    assert [found.id_to_token(OLD.vocab_size + n) for n in range(8)] == expected


def test_a_corpus_with_nothing_new_adds_nothing():
    same = extend_tokenizer(OLD, ["the cat sees the dog."], 50)
    assert decompose_new_tokens(OLD, same) == []
    assert same.to_json() == OLD.to_json()


def test_extending_is_the_same_each_time():
    assert extend_tokenizer(OLD, NEW_TEXTS, 60).to_json() == NEW.to_json()


def test_a_corpus_is_counted_in_parts(monkeypatch):
    monkeypatch.setattr("regard.text.vocab_extension.COUNTING_CHUNK", 2)
    assert extend_tokenizer(OLD, iter(NEW_TEXTS), 60).to_json() == NEW.to_json()


def test_a_lower_case_tokenizer_stays_one():
    old = learn_tokenizer(OLD_TEXTS, 300, lowercase=True)
    new = extend_tokenizer(old, ["CATAMARAN Catamaran"] * 2, 5)
    assert new.lowercase
    assert new.detokenize(new.tokenize(["Catamaran"])) == ["catamaran"]
