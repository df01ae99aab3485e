"""Models with layers of the caller's own and losses of their own: trained, resumed, loaded, and refused."""

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

import regard
from regard.checkpoint import WEIGHTS_FILE, file_sha256, read_manifest
from regard.cli.main import main
from regard.errors import CheckpointError, ConfigError
from regard.training.logs.metrics_file import read_metrics
from small_training import CLASSIFICATION, FORECASTING, SOURCE, TRANSLATION


class GatedFeedForward(nn.Module):
    """A feed-forward layer with a gate, after Shazeer (2020)."""

    def __init__(self, config):
        super().__init__()
        self.gate = nn.Linear(config.d_model, config.d_ff)
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)

    def forward(self, x):
        return self.outer(functional.silu(self.gate(x)) * self.inner(x))


def gate(model):
    for layer in model.encoder.layers:
        layer.feed_forward = GatedFeedForward(model.config)
    return model


def build_gated(config):
    return gate(regard.Transformer(config))


class GatedClassifier(regard.TransformerClassifier):
    def __init__(self, config, classes, mask_token):
        super().__init__(config, classes, mask_token)
        gate(self)


class GatedForecaster(regard.TransformerForecaster):
    def __init__(self, config):
        super().__init__(config)
        gate(self)


class Doubled(nn.Tanh):
    def forward(self, x):
        return 2 * x


def build_with_tanh(config):
    """Return a model whose weights fit the built-in one, which would compute something else with them."""
    model = regard.Transformer(config)
    for layer in [*model.encoder.layers, *model.decoder.layers]:
        layer.feed_forward.activation = nn.Tanh()
    return model


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def train(out="run", data=TRANSLATION, steps=4, **arguments):
    return regard.train(out=out, steps=steps, progress=False, **{**data, **arguments})


def weights(out, step=4):
    return file_sha256(Path(out) / f"step-{step:06}" / WEIGHTS_FILE)


def test_a_translation_model_with_another_layer_is_trained_resumed_and_loaded():
    translator = train(build_model=build_gated)
    assert "encoder.layers.0.feed_forward.gate.weight" in dict(network(translator).named_parameters())
    loaded = regard.Translator.load("run", build_model=build_gated)
    assert loaded.translate(SOURCE[:3]) == translator.translate(SOURCE[:3])
    train("parts", steps=2, build_model=build_gated)
    train("parts", build_model=build_gated)
    assert weights("parts") == weights("run")


def network(translator):
    return translator.tracer._model


@pytest.mark.parametrize(
    ("data", "build_model", "use"),
    [
        (CLASSIFICATION, GatedClassifier, lambda model: model.classify(["the cat is here"])),
        (
            {**FORECASTING, "settings": {**FORECASTING["settings"], "model.encoder_layers": 1}},
            GatedForecaster,
            lambda model: model.forecast("run/data/series.csv").values.tolist(),
        ),
    ],
)
def test_classifiers_and_forecasters_have_layers_of_their_own(data, build_model, use):
    model = train(data=data, build_model=build_model)
    assert isinstance(model.network.encoder.layers[0].feed_forward, GatedFeedForward)
    assert use(type(model).load("run", build_model=build_model)) == use(model)
    with pytest.raises(CheckpointError, match=f"of build_model=.*{build_model.__name__}"):
        type(model).load("run")


def test_a_custom_model_is_not_used_without_its_code(capsys):
    train(build_model=build_with_tanh)
    message = (
        "run/model has a model with layers of its own, of build_model=.*build_with_tanh; load it in Python"
    )
    for use in (lambda: regard.Translator.load("run"), lambda: train("tuned", start="run")):
        with pytest.raises(CheckpointError, match=message):
            use()
    with pytest.raises(SystemExit):
        main(["look", "run", "the cat"])
    assert "load it in Python with that build_model" in capsys.readouterr().err


def test_translations_are_those_of_the_custom_layers():
    translator = train(build_model=build_with_tanh)
    assert translator.engine_info == ("torch", "fp32")
    network(translator).decoder.layers[0].feed_forward.activation = Doubled()
    before = translator.translate_detailed(SOURCE[:1])[0].score
    network(translator).decoder.layers[0].feed_forward.activation = nn.Tanh()
    assert translator.translate_detailed(SOURCE[:1])[0].score != before


@pytest.mark.parametrize("arguments", [{"engine": "ctranslate2"}, {"precision": "int8"}])
def test_no_other_engine_computes_a_custom_model(arguments):
    train(build_model=build_gated, steps=2)
    with pytest.raises(ConfigError, match="translates alone, with the engine torch in fp32"):
        regard.Translator.load("run", **arguments, build_model=build_gated)


def test_a_run_resumes_with_the_model_and_the_loss_it_was_started_with(capsys):
    train("own", steps=2, build_model=build_gated)
    train("plain", steps=2)
    train("loss", steps=2, loss=functional.cross_entropy)
    own = r"own was started from Python with build_model=.*build_gated; give it to regard\.train again"
    loss = r"loss was started from Python with loss=torch\.nn\.functional\.cross_entropy; give it"
    for out, message, arguments in (
        ("own", own, {}),
        ("loss", loss, {}),
        ("plain", "plain was started without build_model", {"build_model": build_gated}),
        ("plain", "plain was started without loss", {"loss": functional.cross_entropy}),
    ):
        with pytest.raises(ConfigError, match=message):
            train(out, **arguments)
    with pytest.raises(SystemExit):
        main(["train", "--out", "own", "--steps", "4"])
    assert "give it to regard.train again" in capsys.readouterr().err


def test_the_built_in_loss_given_as_a_custom_one_trains_the_same_model():
    """Smoothed cross-entropy, as a mean and as one value per target."""
    train("built-in")
    train("mean", loss=nn.CrossEntropyLoss(label_smoothing=0.1))
    each = nn.CrossEntropyLoss(label_smoothing=0.1, reduction="none")
    train("each", loss=each)
    built_in, mean, each = (
        [(row["loss"], row["grad_norm"]) for row in read_metrics(Path(out, "metrics.jsonl")) if "lr" in row]
        for out in ("built-in", "mean", "each")
    )
    assert len(built_in) == 4
    for row, *others in zip(built_in, mean, each, strict=True):
        assert others == [pytest.approx(row, rel=1e-4)] * 2


def test_a_custom_loss_of_a_classifier_and_of_a_forecaster_is_what_is_minimized():
    seen = []

    def labels_loss(logits, labels):
        seen.append((logits.ndim, labels.ndim))
        return functional.cross_entropy(logits, labels)

    def mean_error(prediction, target):
        seen.append((prediction.ndim, target.ndim))
        return (prediction[..., 0] - target).abs()

    train("classes", CLASSIFICATION, loss=labels_loss)
    train("series", FORECASTING, loss=mean_error)
    assert set(seen) == {(2, 1), (4, 3)}
    metrics = read_manifest(Path("series/model"))["metrics"]
    assert metrics["loss"] == pytest.approx(metrics["mae"], rel=1e-5)


def test_the_weights_of_a_loss_are_on_the_device_of_the_model():
    rare = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]))
    assert isinstance(train(data=CLASSIFICATION, loss=rare), regard.Classifier)


def test_an_output_layer_of_its_own_is_trained_and_validated():
    def build_with_bias(config):
        model = regard.Transformer(config)
        model.output = nn.Linear(config.d_model, config.vocab_size)
        return model

    translator = train(build_model=build_with_bias)
    assert network(translator).output.bias.abs().sum() > 0


def test_a_frozen_weight_stays_and_the_run_resumes():
    def build_frozen(config):
        model = regard.Transformer(config)
        model.source_embedding.tokens.weight.requires_grad_(False)
        return model

    separate = {**TRANSLATION, "settings": {**TRANSLATION["settings"], "model.tied": "target"}}
    first = network(train(data=separate, steps=2, build_model=build_frozen)).source_embedding.tokens.weight
    last = network(train(data=separate, build_model=build_frozen)).source_embedding.tokens.weight
    torch.testing.assert_close(first, last, rtol=0, atol=0)
    train("whole", separate, build_model=build_frozen)
    assert weights("run") == weights("whole")


def build_with_buffer(config):
    model = regard.Transformer(config)
    model.encoder.norm = nn.BatchNorm1d(config.d_model)
    return model


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"build_model": lambda _: nn.Linear(2, 2)},
            "build_model returned Linear; it must return a regard.Trans",
        ),
        (
            {"build_model": build_with_buffer},
            "has the buffer encoder.norm.num_batches_tracked, and only param",
        ),
        (
            {"loss": lambda logits, _: logits},
            r"loss returned a tensor of shape \[.*\]; it must return the mean",
        ),
        ({"loss": lambda *_: 1.0}, "loss returned float; it must return the mean, as a tensor"),
        (
            {"loss": print, "settings": {**TRANSLATION["settings"], "loss.rdrop": 1.0}},
            "conflicts with loss.rdrop",
        ),
        ({"build_model": build_gated, "start": "base"}, "build_model conflicts with start"),
    ],
)
def test_what_cannot_be_trained_or_saved_is_refused(arguments, message):
    if "start" in arguments:
        train("base", steps=2)
    with pytest.raises(ConfigError, match=message):
        train(**arguments)
    assert not Path("run").exists()
