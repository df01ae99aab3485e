"""Traces of a classifier: attention of the class token and all others, in every head of every layer."""

import math
from pathlib import Path
from time import perf_counter

import torch

from regard.classification.label_predictor import LabelPredictor
from regard.classification.model_folder import CLASSIFICATION_TASK, load_classifier
from regard.errors import DataError
from regard.metrics.classification import class_probabilities
from regard.model.masks import NO_MASK
from regard.text.labelled_files import clean_text
from regard.text.tokenizer import BOS
from regard.text.unicode import reject_lone_surrogates
from regard.trace.capture import ForwardCapture, capture_encoder
from regard.trace.encoder_only import build_encoder_only_trace
from regard.trace.model_facts import ModelIdentity, build_model_facts, identify_model_folder
from regard.trace.request import MAX_TRACE_TOKENS, TraceLengthError, TraceRequest
from regard.trace.schema import ModelFacts, TraceSource, TraceTarget, TraceToken, VocabSizes
from regard.trace.tokens import TokenRenderer, describe_tokens
from regard.trace.trace import Trace
from regard.training.device import DeviceChoice


class ClassifierTracer:
    """Traces the predictions of one classifier; the class token is the first source token."""

    def __init__(self, classifier: LabelPredictor, identity: ModelIdentity) -> None:
        self._classifier, self._identity = classifier, identity

    @staticmethod
    def load(folder: Path, device: DeviceChoice = "auto") -> "ClassifierTracer":
        loaded = load_classifier(folder)
        identity = identify_model_folder(folder, loaded.manifest)
        return ClassifierTracer(LabelPredictor.from_loaded(loaded, device), identity)

    def trace(self, text: str, max_tokens: int = MAX_TRACE_TOKENS) -> Trace:
        """Trace one text; the target lists every label, most probable first."""
        start = perf_counter()
        tokenizer, request = self._classifier.tokenizer, TraceRequest(text)
        ids = self._tokenize(text, max_tokens)
        captured = self._capture(ids)
        return build_encoder_only_trace(
            self.model_facts(),
            request,
            TraceSource(TokenRenderer(tokenizer).line(ids), tuple(describe_tokens(tokenizer, ids))),
            self._label_target(captured),
            captured,
            1000 * (perf_counter() - start),
        )

    def model_facts(self) -> ModelFacts:
        """Describe the model in a trace."""
        network = self._classifier.network
        config, labels = network.config, self._classifier.labels
        vocab = VocabSizes(config.vocab_size, len(labels))
        return build_model_facts(
            self._identity, network, config, (config.encoder_layers, 0), vocab, CLASSIFICATION_TASK
        )

    def _tokenize(self, text: str, max_tokens: int) -> list[int]:
        reject_lone_surrogates("the text", text)
        (row,) = self._classifier.tokenizer.tokenize([clean_text(text)])
        if not row:
            raise DataError("the text is blank; there is nothing to trace")
        model_limit, count = self._classifier.network.max_tokens + 1, len(row) + 1
        if count > min(max_tokens, model_limit):
            setting = "max_tokens" if max_tokens < model_limit else None
            raise TraceLengthError("the text", count, min(max_tokens, model_limit), setting)
        return [BOS, *row]

    @torch.inference_mode()
    def _capture(self, ids: list[int]) -> ForwardCapture:
        network = self._classifier.network
        row = torch.tensor([ids], device=network.device)
        embedded = network.embedding(row, torch.arange(len(ids), device=network.device)[None])
        encoder, encoded = capture_encoder(network.encoder, embedded, NO_MASK)
        return ForwardCapture(
            embedded[0], embedded[0, :0], encoder, (), encoded[0], network.output(encoded[0, :1])
        )

    def _label_target(self, captured: ForwardCapture) -> TraceTarget:
        """Return every label with its calibrated probability; token ids are the indexes of the logits."""
        logits = captured.logits.double().cpu().numpy()
        probabilities = class_probabilities(logits, self._classifier.temperature)[0].tolist()
        order = sorted(range(len(probabilities)), key=lambda number: -probabilities[number])
        labels = self._classifier.labels
        tokens = tuple(
            TraceToken(
                number,
                labels[number],
                labels[number],
                None,
                None,
                None,
                logprob=_finite_log(probabilities[number]),
            )
            for number in order
        )
        best = _finite_log(probabilities[order[0]])
        return TraceTarget(labels[order[0]], best, best, False, tokens)


def _finite_log(probability: float) -> float:
    """Return the logarithm, never minus infinity, which JSON cannot write."""
    return math.log(max(probability, 1e-300))
