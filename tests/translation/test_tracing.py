import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import regard
from regard.config import to_toml
from regard.errors import ConfigError, DataError
from regard.model.transformer import Transformer
from regard.text.tokenizer import BOS, learn_tokenizer
from regard.trace.interventions import AblateHead, MaskSource, RemovePositions
from regard.trace.model_facts import identify_model_in_memory
from regard.trace.request import TraceLengthError
from regard.translation.model_folder import save_translation_model
from regard.translation.run import TranslationRun
from regard.translation.translator import Translator

TEXTS = ["the cat sees the dog.", "the dog sees a bird.", "a bird sings."] * 3


@pytest.fixture
def parts(micro):
    tokenizer = learn_tokenizer(TEXTS, 300)
    torch.manual_seed(0)
    config = replace(micro, vocab_size=tokenizer.vocab_size, max_length=20)
    return Transformer(config).eval(), tokenizer


@pytest.fixture
def folder(parts, tmp_path):
    model, tokenizer = parts
    run = TranslationRun(model.config)
    run = replace(run, data=replace(run.data, source=("train.en.gz",), target=("train.fr",)))
    save_translation_model(tmp_path / "mine" / "model", model, tokenizer, to_toml(run), {"step": 7})
    return tmp_path / "mine"


@pytest.mark.parametrize("search", [{}, {"beam": 1}, {"beam": 3, "alpha": 0.0}])
def test_a_trace_has_the_translation_of_the_translator(parts, search):
    translator = Translator.from_model(*parts)
    for text in ("  the cat sings. ", "a é"):
        (expected,) = translator.translate_detailed([text], regard.SearchConfig(**search))
        trace = translator.trace(text, **search)
        assert trace.target.text == expected.text
        assert trace.target.score == pytest.approx(expected.score, abs=1e-4)
        assert trace.target.logprob == pytest.approx(expected.log_probability, abs=1e-4)
        assert not trace.target.forced


def test_row_t_predicts_target_token_t(parts):
    model, tokenizer = parts
    trace = Translator.from_model(*parts).trace("the cat sings.", target="a bird sees")
    source, target = ([token.id for token in side.tokens] for side in (trace.source, trace.target))
    row = torch.tensor([source])
    with torch.no_grad():
        logs = model(row, row > 0, torch.tensor([[BOS, *target[:-1]]]))[0].log_softmax(dim=-1)
    expected = [float(logs[t, token]) for t, token in enumerate(target)]
    assert [token.logprob for token in trace.target.tokens] == pytest.approx(expected, abs=1e-5)
    assert [step.top[0].id for step in trace.steps] == logs.argmax(dim=1).tolist()
    assert trace.attention["cross"].shape == (2, 4, len(target), len(source))
    assert source[-1] == target[-1] == 2
    assert trace.target.forced
    assert trace.beam is None
    assert tokenizer.detokenize([target])[0] == trace.target.text == "a bird sees"


def test_texts_and_token_ids_give_equal_traces(parts):
    translator, (ids,) = Translator.from_model(*parts), parts[1].tokenize(["a bird"])
    assert translator.trace("the cat", target="a bird").id == translator.trace("the cat", target=ids).id
    one, other = (translator.trace("the cat", prefix=prefix) for prefix in ("a bird", ids))
    assert one.id == other.id
    assert one.target.text.startswith("a bird")
    (expected,) = translator.translate_detailed(["the cat"], options=regard.TranslateOptions(prefix="a bird"))
    assert one.target.text == expected.text
    assert translator.trace("the cat").id != one.id


def test_interventions_change_search_and_recorded_attention(parts):
    translator = Translator.from_model(*parts)
    changes = (AblateHead("cross", 2, 1, "uniform"), RemovePositions(), MaskSource((1,)))
    trace = translator.trace("the cat sees a dog", interventions=changes)
    length = len(trace.source.tokens)
    uniform = trace.attention["cross"][1, 0]
    assert uniform[:, 1] == pytest.approx(0.0)
    assert np.delete(uniform, 1, axis=1) == pytest.approx(1 / (length - 1), abs=1e-5)
    assert trace.heads["cross"][1][0].entropy == pytest.approx(1.0, abs=1e-5)
    winner = trace.beam.nodes[trace.beam.finished[0].node]
    assert winner.sum == pytest.approx(trace.target.logprob, abs=1e-4)
    again = translator.trace("the cat sees a dog")
    assert again.target.logprob != pytest.approx(trace.target.logprob, abs=1e-4)


def test_texts_that_cannot_be_traced_are_refused(parts):
    translator = Translator.from_model(*parts)
    message = "the text has 5 tokens, and at most 4 can be traced; shorten it, or raise max_tokens$"
    with pytest.raises(TraceLengthError, match=message) as caught:
        translator.trace("the cat sees the", max_tokens=4)
    assert caught.value.limit == 4
    with pytest.raises(TraceLengthError, match="tokens, and this model reads at most 20; shorten it$"):
        translator.trace("the cat sees the dog " * 9)
    with pytest.raises(TraceLengthError, match="the translation has 11 tokens"):
        translator.trace("the", target="the " * 10, max_tokens=10)
    with pytest.raises(TraceLengthError, match="the beginning has 11 tokens"):
        translator.trace("the", prefix="the " * 10, max_tokens=10)
    with pytest.raises(DataError, match="blank"):
        translator.trace("  ")
    with pytest.raises(ConfigError, match="target has a token 2; ids run from 3 to"):
        translator.trace("the", target=[5, 2])
    with pytest.raises(DataError, match="a lone surrogate"):
        translator.trace("a \ud83d b")
    with pytest.raises(DataError, match="the prefix has a lone surrogate"):
        translator.trace("a", prefix="\udcff")
    with pytest.raises(DataError, match="the target has a lone surrogate"):
        translator.trace("a", target="\udcff")
    with pytest.raises(DataError, match="the text has a lone surrogate"):
        translator.tracer.trace(translator.tracer.build_request("\udcff"))


def test_a_translation_that_is_too_long_to_trace_is_refused(parts):
    translator = Translator.from_model(*parts)
    length = len(translator.trace("the cat").target.tokens)
    assert length > 5
    assert len(translator.trace("the cat", max_tokens=length).target.tokens) == length
    with pytest.raises(TraceLengthError, match="the translation has 6 tokens, and at most 5 can be traced"):
        translator.trace("the cat", max_tokens=5)


def test_an_intervention_may_have_the_form_of_a_traces_json(parts):
    translator = Translator.from_model(*parts)
    expected = translator.trace("the cat", interventions=[AblateHead("cross", 2, 3), RemovePositions()])
    as_json = expected.to_json()["request"]["interventions"]
    trace = translator.trace("the cat", interventions=as_json)
    assert (trace.request, trace.target) == (expected.request, expected.target)
    with pytest.raises(ConfigError, match="is not an intervention; its type must be one of head,"):
        translator.trace("the cat", interventions=[{"type": "tail"}])


def test_byte_tokens_are_shown_as_the_character_they_encode(parts):
    tracer = Translator.from_model(*parts).tracer
    trace = tracer.trace(tracer.build_request("東", target="京"))
    tokens = tracer.attention_steps(trace, "cross", 1, 1, 1)["tokens"]
    assert tokens == {"query": "␣", "keys": ["␣", "東", "…", "…", "</s>"], "predicted": "京"}


def test_the_model_facts_of_a_folder_have_name_step_and_languages(parts, folder):
    facts = Translator.load(folder, engine="torch").trace("the cat", target="a").model
    assert (facts.name, facts.step, facts.source_lang, facts.target_lang) == ("mine", 7, "en", "fr")
    assert (facts.heads, facts.d_k, facts.norm, facts.positions, facts.shared) == (
        4,
        4,
        "post",
        "paper",
        True,
    )
    assert facts.parameters == sum(parameter.numel() for parameter in parts[0].parameters())
    again = Translator.load(folder, engine="torch").trace("the cat", target="a")
    assert again.model == facts


def test_changed_weights_change_the_model_id(parts):
    model, tokenizer = parts
    translator = Translator.from_model(model, tokenizer)
    before = translator.trace("the cat", target="a")
    with torch.no_grad():
        model.output.weight.add_(0.1)
    after = translator.trace("the cat", target="a")
    assert before.model.id != after.model.id == identify_model_in_memory(model).id
    assert before.target.logprob != after.target.logprob


def test_a_trace_loads_the_torch_model_beside_ctranslate2(folder):
    code = (
        "import sys, regard\n"
        f"translator = regard.Translator.load({str(folder)!r}, engine='ctranslate2')\n"
        "assert 'torch' not in sys.modules\n"
        "trace = translator.trace('the cat', target='a dog')\n"
        "assert trace.target.text == 'a dog'\n"
        "assert translator.tracer is translator.tracer\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_ensemble_cannot_be_traced(folder):
    several = Translator.load(folder, options=regard.TranslateOptions(ensemble=(folder / "model",)))
    with pytest.raises(ConfigError, match="an ensemble cannot be traced; load one of its models"):
        several.trace("the cat")
