"""A classifier looked into: where its class token looks, in every head of every layer."""

import math
from pathlib import Path
from time import perf_counter

import torch

from regard.classification.classifier import Classifier
from regard.classification.model_folder import TASK, load_classifier
from regard.errors import DataError
from regard.metrics.classification import probabilities
from regard.model.masks import EVERYTHING
from regard.text.corpus_files import clean
from regard.text.tokenizer import BOS
from regard.text.unicode import refuse_halves
from regard.trace.capture import Captured, through_encoder
from regard.trace.encoder_only import glance
from regard.trace.model_facts import Identity, identity_of_folder, model_facts
from regard.trace.request import MAX_TRACE_TOKENS, LengthError, Request
from regard.trace.schema import ModelFacts, Side, Target, Token, Vocab
from regard.trace.tokens import Names, tokens
from regard.trace.trace import Trace
from regard.train.device import Device, choose_device


class LabelTracer:
    """Looks into labels that one classifier gives; the class token is the first of the source."""

    def __init__(self, classifier: Classifier, identity: Identity) -> None:
        self._classifier, self._identity = classifier, identity

    @staticmethod
    def load(folder: Path, device: Device = "auto") -> "LabelTracer":
        found = load_classifier(folder)
        network = found.network.to(choose_device(device))
        classifier = Classifier(network, found.tokenizer, found.labels, found.temperature)
        return LabelTracer(classifier, identity_of_folder(folder, found.manifest))

    def trace(self, text: str, max_tokens: int = MAX_TRACE_TOKENS) -> Trace:
        """One text, its labels (in the target, the likeliest first), and all that produced them."""
        began = perf_counter()
        tokenizer, request = self._classifier.tokenizer, Request(text)
        ids = self._ids(text, max_tokens)
        captured = self._captured(ids)
        return glance(
            self.facts(),
            request,
            Side(Names(tokenizer).whole(ids), tuple(tokens(tokenizer, ids))),
            self._labels(captured),
            captured,
            1000 * (perf_counter() - began),
        )

    def facts(self) -> ModelFacts:
        """What a trace says of its model."""
        network = self._classifier.network
        config, labels = network.config, self._classifier.labels
        vocab = Vocab(config.vocab_size, len(labels))
        return model_facts(self._identity, network, config, (config.encoder_layers, 0), vocab, TASK)

    def _ids(self, text: str, max_tokens: int) -> list[int]:
        refuse_halves("the text", text)
        (row,) = self._classifier.tokenizer.tokenize([clean(text)])
        if not row:
            raise DataError("the text is blank; there is nothing to trace")
        own, count = self._classifier.network.longest + 1, len(row) + 1
        if count > min(max_tokens, own):
            setting = "max_tokens" if max_tokens < own else None
            raise LengthError("the text", count, min(max_tokens, own), setting)
        return [BOS, *row]

    @torch.inference_mode()
    def _captured(self, ids: list[int]) -> Captured:
        network = self._classifier.network
        row = torch.tensor([ids], device=network.device)
        embedded = network.embedding(row, torch.arange(len(ids), device=network.device)[None])
        encoder, encoded = through_encoder(network.encoder, embedded, EVERYTHING)
        return Captured(embedded[0], embedded[0, :0], encoder, (), encoded[0], network.output(encoded[0, :1]))

    def _labels(self, captured: Captured) -> Target:
        """Every label with its calibrated probability; numbers are those of the model's output."""
        scores = captured.logits.double().cpu().numpy()
        shares = probabilities(scores, self._classifier.temperature)[0].tolist()
        order = sorted(range(len(shares)), key=lambda number: -shares[number])
        names = self._classifier.labels
        found = tuple(
            Token(number, names[number], names[number], None, None, None, logprob=_log(shares[number]))
            for number in order
        )
        best = _log(shares[order[0]])
        return Target(names[order[0]], best, best, False, found)


def _log(probability: float) -> float:
    """JSON has no infinity; what is less likely than any float is as good as that."""
    return math.log(max(probability, 1e-300))
