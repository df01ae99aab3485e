"""The translation task of the training loop: corpora, model, loss, validation and model folder."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from rich.console import Console
from torch import Tensor, nn
from torch.nn import functional

from regard.checkpoint import CONFIG_FILE, find_model_folder
from regard.config import read_settings, to_toml
from regard.corpus.prepare import PreparedCorpora, write_data_report
from regard.data.batch import BatchShape, PairBatch, make_pair_batch
from regard.data.bucketing import bucket_by_length
from regard.data.prefetch import prefetch_items
from regard.data.stream import StreamPosition, TokenBudget, count_epoch_batches, stream_batches
from regard.errors import ConfigError
from regard.metrics.translation import bleu_by_length, corpus_bleu, corpus_chrf
from regard.model.masks import PackedSequences
from regard.model.transformer import Transformer
from regard.search.config import SearchConfig
from regard.text.corpus_files import FileLines
from regard.text.languages import languages_of_model
from regard.text.tokenizer import PAD
from regard.text.tokenizer_file import load_tokenizer
from regard.training.cuda_graph_step import CudaGraphStep
from regard.training.customization import NO_CUSTOMIZATION, Customization, sum_custom_loss
from regard.training.device import choose_device
from regard.training.harness import train_and_publish
from regard.training.logs.console import format_header
from regard.training.loop import TrainingResult
from regard.training.loss import label_smoothing_floor, rdrop_cross_entropy, smoothed_cross_entropy
from regard.training.model_card import CardText, CurvesRenderer
from regard.training.setup import Schedule, TrainingSetup
from regard.training.state import ResumePoint
from regard.training.step import EagerStep, Learner, TrainStep
from regard.training.task import BatchCounts, DataPosition, ValidationResult, ValidationSample
from regard.translation.corpus import find_languages, hash_pair_files, prepare_pair_corpora
from regard.translation.finetune import StartModel, read_start_model
from regard.translation.model_folder import (
    TOKENIZER_FILE,
    load_translation_model,
    write_translation_model_files,
)
from regard.translation.run import TranslationRun, resolve_translation_run, uses_captured_steps
from regard.translation.translator import Translator
from regard.translation.unlike_training import calibrate_translator

PREFETCH_BATCHES = 8
"""Batches prepared in advance for a GPU, so that it never waits for one."""
TRANSLATION_SAMPLES = 3
"""Validation sentences whose translations are logged at every validation."""
PAIRS_MARGIN = 1.2
"""Room of a batch of fixed shape: pairs it can hold, in proportion to the pairs of an average batch."""


def train_translation(
    run: TranslationRun,
    out: Path,
    console: Console,
    render_curves: CurvesRenderer | None = None,
    custom: Customization = NO_CUSTOMIZATION,
) -> TrainingResult:
    """Prepare the corpora, learn the tokenizer, train, and write the best model to `out`/model.

    `render_curves` draws the training curves that are stored with the model.
    """
    _reject_conflicting_customization(run, custom)

    def make_task(checkpoint: ResumePoint | None) -> TranslationTask:
        start = load_start_model(run) if checkpoint is None else None
        folder = checkpoint and checkpoint.folder
        corpora = prepare_run_corpora(run, start, folder, console)
        parent = checkpoint.manifest.get("from") if checkpoint else start and start.manifest_entry
        is_plain = custom.build_model is None and custom.loss is None  # others are not captured
        uncaptured = replace(run, compute=replace(run.compute, capture="no"))
        resolved, memory = resolve_translation_run(run if is_plain else uncaptured, corpora, folder)
        resolved = with_languages(resolved, folder or (start and start.path))
        return TranslationTask(resolved, corpora, start, parent, memory, custom)

    return train_and_publish(
        run, out, console, lambda: hash_pair_files(run.data, console), make_task, render_curves, custom
    )


def _reject_conflicting_customization(run: TranslationRun, custom: Customization) -> None:
    if custom.build_model is not None and run.start.model is not None:
        raise ConfigError("build_model conflicts with --from: the weights there are those of another model")
    if custom.loss is not None and run.loss.rdrop:
        raise ConfigError("loss conflicts with loss.rdrop, which is another loss; set it to 0")


def with_languages(run: TranslationRun, before: Path | None) -> TranslationRun:
    """Return the run with its languages, by the settings, the files, or the model that it continues."""
    source, target = find_languages(run.data)
    if before is not None:
        stored = read_settings(find_model_folder(before) / CONFIG_FILE)
        known = languages_of_model(stored.get("data", {}))
        source, target = source or known[0], target or known[1]
    return replace(run, data=replace(run.data, source_language=source, target_language=target))


def load_start_model(run: TranslationRun) -> StartModel | None:
    """Return the model that `start.model` names, or None for random initial weights."""
    if run.start.model is None:
        return None
    return read_start_model(Path(run.start.model), run.model, run.data.lowercase)


def prepare_run_corpora(
    run: TranslationRun, start: StartModel | None, checkpoint: Path | None, console: Console
) -> PreparedCorpora:
    """Return the run's corpora, tokenized by the start model, the checkpoint or a tokenizer learned now."""
    model, seed, extend = run.model, run.train.seed, None
    tokenizer = load_tokenizer(checkpoint / TOKENIZER_FILE) if checkpoint else None
    if start is not None:
        tokenizer, extend = start.model.tokenizer, run.start.extend_vocabulary
    return prepare_pair_corpora(
        run.data, model.vocab_size, model.max_length, seed, console, tokenizer, extend
    )


class TranslationTask:
    """Translation as the training loop sees it: implements `train.harness.TrainingTask`."""

    def __init__(
        self,
        run: TranslationRun,
        corpora: PreparedCorpora,
        start: StartModel | None = None,
        parent: Mapping[str, Any] | None = None,
        memory: str | None = None,
        custom: Customization = NO_CUSTOMIZATION,
    ) -> None:
        """Build the model with the vocabulary that the corpus has, which may be smaller than requested.

        `parent` is the manifest entry of the model that the run started from, `memory` a line about the
        memory of a step.
        """
        tokenizer = corpora.tokenizer
        run = replace(run, model=replace(run.model, vocab_size=tokenizer.vocab_size))
        self._run = run
        self.corpora = corpora
        self._tokenizer = tokenizer
        self._start, self._parent, self._memory = start, parent, memory
        torch.manual_seed(run.train.seed)
        self._custom = custom
        self.model = custom.build(Transformer, run.model).to(choose_device(run.compute.device))
        self.setup = TrainingSetup(run, self.model, has_perplexity=True)
        self._device = self.setup.device
        self._custom_loss = custom.loss_on(self._device)
        if start is not None:
            self.model.load_state_dict(start.initial_transformer(tokenizer).state_dict())
        self._translator = Translator.from_model(self.model, tokenizer)
        is_captured = uses_captured_steps(run, self._device, self.setup.precision)
        self._batch_shape = self._fixed_batch_shape() if is_captured else None

    def describe(self) -> Iterator[str]:
        """Yield the lines printed before training: model, data, device, length and memory."""
        model, run = self._run.model, self._run
        layers = f"{model.encoder_layers}+{model.decoder_layers} layers"
        sizes = f"{layers}, d_model {model.d_model}, {model.heads} heads, vocabulary {model.vocab_size:,}"
        yield from format_header([("model", f"{sizes}: {self.setup.parameter_count:,} parameters")])
        if self._start is not None:
            yield from format_header([("start", self._start.describe(self._tokenizer))])
        yield from self.corpora.describe()
        if dropout := run.data.bpe_dropout:
            variants = f"{run.data.bpe_variants} tokenizations per pair, with BPE dropout {dropout:g}"
            yield from format_header([("", variants)])
        yield from self.setup.describe(f"{run.data.batch_tokens * run.train.accumulate:,} tokens")
        if (smoothing := run.loss.label_smoothing) and self._custom_loss is None:
            floor = f"the training loss cannot fall below {self.loss_floor:.2f}"
            yield from format_header([("", f"label smoothing {smoothing:g}: {floor}")])
        if self._memory is not None:
            yield from format_header([("memory", self._memory)])

    @property
    def loss_floor(self) -> float:
        """The lowest possible training loss, given the label smoothing."""
        return label_smoothing_floor(self._run.loss.label_smoothing, self._run.model.vocab_size)

    @property
    def card_text(self) -> CardText:
        return CardText(
            task_verb="translate",
            unit="pairs",
            usage_command='regard translate THIS_FOLDER <<< "A sentence."',
            evaluation=f"BLEU and chrF of greedy translations of the first {self._bleu_pairs:,}",
            score_names={
                "bleu": "BLEU",
                "chrf": "chrF",
                "loss": "loss, nats per token",
                "perplexity": "perplexity",
            },
        )

    def run_metadata(self) -> dict[str, object]:
        """Return reference values for the training curves."""
        if self._custom_loss is not None:
            return {}
        return {"label_smoothing": self._run.loss.label_smoothing, "loss_floor": self.loss_floor}

    def write_data_report(self, out: Path) -> None:
        write_data_report(out, self.corpora)

    def set_schedule(self, schedule: Schedule) -> None:
        self._run = replace(self._run, optimizer=schedule.optimizer, train=schedule.train)
        self.setup = replace(self.setup, run=self._run)

    def make_step(self, learner: Learner) -> TrainStep[PairBatch]:
        """Return a step that replays CUDA graphs if the device and model support it, else an eager one."""
        train = self._run.train
        if self._batch_shape is None:
            return EagerStep(self, learner, train.seed, train.clip)
        example = next(self.batches({}))[0].to(self._device)
        return CudaGraphStep(
            self, learner, train.seed, train.clip, example, train.accumulate, self._modules_to_compile()
        )

    def batches(self, start: DataPosition) -> Iterator[tuple[PairBatch, DataPosition]]:
        batches = self._batches(start)
        return prefetch_items(batches, PREFETCH_BATCHES) if self._device.type == "cuda" else batches

    def _batches(self, start: DataPosition) -> Iterator[tuple[PairBatch, DataPosition]]:
        pairs, seed = self.corpora.train, self._run.train.seed
        for indexes, after in stream_batches(pairs, self._token_budget, seed, StreamPosition(**start)):
            batch = make_pair_batch(pairs.source, pairs.target, indexes, self._batch_shape)
            yield batch.pin_memory() if self._device.type == "cuda" else batch, asdict(after)

    def count_epoch_batches(self) -> int:
        return count_epoch_batches(self.corpora.train, self._token_budget, self._run.train.seed)

    @property
    def _token_budget(self) -> TokenBudget:
        if (shape := self._batch_shape) is None:
            return TokenBudget(self._run.data.batch_tokens)
        return TokenBudget(shape.tokens, shape.guaranteed_pairs, sort_by_length=False)

    def _fixed_batch_shape(self) -> BatchShape:
        """Return the fixed shape of batches for CUDA graphs, with room for more pairs than the average."""
        pairs, longest = self.corpora.train, self._run.model.max_length
        tokens = max(self._run.data.batch_tokens, longest)
        max_pairs = int(PAIRS_MARGIN * tokens / pairs.mean_length) + -(-tokens // longest) + 1
        return BatchShape(tokens, max_pairs, longest)

    def _modules_to_compile(self) -> list[nn.Module]:
        model = self.model
        return [model.source_embedding, model.target_embedding, *model.encoder.layers, *model.decoder.layers]

    def batch_counts(self, batch: PairBatch) -> BatchCounts:
        tokens = batch.source_tokens + batch.target_tokens
        return BatchCounts(batch.source_tokens, batch.target_tokens, batch.computed_tokens - tokens)

    def loss(self, batch: PairBatch) -> Tensor:
        config = self._run.loss
        if self._custom_loss is not None:
            with self.setup.autocast():
                logits, targets = pair_logits(self.model, batch.to(self._device))
                return sum_custom_loss(self._custom_loss, logits, targets)
        if not config.rdrop:
            return self._cross_entropy(batch, config.label_smoothing)
        with self.setup.autocast():
            on_device = batch.to(self._device)
            return rdrop_pair_loss(self.model, on_device, config.label_smoothing, config.rdrop)

    def locate_lines(self, batch: PairBatch) -> list[FileLines]:
        return self.corpora.training_lines(batch.pair_indexes)

    def fingerprint(self) -> Mapping[str, str]:
        return {**self.corpora.fingerprint, **self.corpora.valid_fingerprint}

    def validate(self) -> ValidationResult:
        """Compute the loss without smoothing of all pairs that fit the model, BLEU and chrF of the first."""
        self.model.eval()
        loss = self._validation_loss()
        sources, references, rows = self._bleu_texts
        max_tokens = self._run.model.max_tokens
        fitting = [row if len(row) <= max_tokens else [] for row in rows]  # no translation if it does not fit
        hypotheses = self._translator.translate_ids(fitting, SearchConfig(beam=1))
        lowercase = self._run.data.lowercase
        bleu = corpus_bleu(hypotheses, references, lowercase)
        chrf = corpus_chrf(hypotheses, references, lowercase)
        by_length = bleu_by_length([len(row) for row in rows], hypotheses, references, lowercase)
        samples = list(zip(sources, references, hypotheses, strict=True))[:TRANSLATION_SAMPLES]
        return ValidationResult(
            metrics={
                "loss": loss,
                "perplexity": math.exp(min(loss, 50)),
                "bleu": bleu.score,
                "chrf": chrf.score,
            },
            details={"bleu_signature": bleu.signature, "chrf_signature": chrf.signature},
            chart_data={"bleu_by_length": asdict(by_length)},
            samples=[ValidationSample(*sample) for sample in samples],
        )

    def save(self, folder: Path) -> dict[str, Any]:
        corpora = self.corpora
        metadata = {
            "parameters": self.setup.parameter_count,
            "trained_on": {
                "pairs": len(corpora.train),
                "files": dict(corpora.fingerprint),
                "left_out": dict(corpora.report["train"]["left_out"]),
            },
            "validated_on": {
                "pairs": len(corpora.valid),
                "files": dict(corpora.valid_fingerprint),
                "left_out": dict(corpora.report["valid"]["left_out"]),
                "translated": self._bleu_pairs,
            },
        }
        if self._parent is not None:
            metadata["from"] = dict(self._parent)
        metadata |= self._custom.manifest_entries
        return write_translation_model_files(
            folder, self.model, self._tokenizer, to_toml(self._run), metadata
        )

    def calibrate(self, folder: Path) -> Mapping[str, object]:
        """Return how probable translations of validation texts are, to detect texts unlike them."""
        model = load_translation_model(folder, self._custom.build_model)
        translator = Translator.from_model(model.transformer.to(self._device), model.tokenizer)
        calibration = calibrate_translator(translator, [source for source, _ in self.corpora.valid_texts])
        return {} if calibration is None else calibration.to_manifest()

    @property
    def _bleu_pairs(self) -> int:
        return min(self._run.data.bleu_pairs, len(self.corpora.valid_texts))

    @cached_property
    def _bleu_texts(self) -> tuple[list[str], list[str], list[list[int]]]:
        """Sources, references and source ids of the validation pairs that are translated."""
        texts = self.corpora.valid_texts[: self._bleu_pairs]
        sources, references = ([pair[side] for pair in texts] for side in (0, 1))
        return sources, references, self._tokenizer.tokenize([source.strip() for source in sources])

    def _cross_entropy(self, batch: PairBatch, smoothing: float) -> Tensor:
        batch = batch.to(self._device)
        with self.setup.autocast():
            return pair_loss(self.model, batch, smoothing)

    @torch.no_grad()
    def _validation_loss(self) -> float:
        pairs = self.corpora.valid
        lengths = np.maximum(pairs.source.lengths, pairs.target.lengths)
        total, tokens = 0.0, 0
        for indexes in bucket_by_length(lengths, self._run.data.batch_tokens):
            batch = make_pair_batch(pairs.source, pairs.target, indexes)
            total += float(self._cross_entropy(batch, smoothing=0.0))
            tokens += batch.target_tokens
        return total / tokens


def pair_loss(model: Transformer, batch: PairBatch, smoothing: float) -> Float[Tensor, ""]:
    """Return the cross-entropy summed over the target tokens, end marks included."""
    if type(model.output) is not nn.Linear or model.output.bias is not None:  # of a custom model
        logits, targets = pair_logits(model, batch)
        return functional.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    return smoothed_cross_entropy(
        compute_decoder_output(model, batch)[0], model.output.weight, batch.target_out[0], smoothing, PAD
    )


def pair_logits(
    model: Transformer, batch: PairBatch
) -> tuple[Float[Tensor, "tokens vocab"], Int[Tensor, " tokens"]]:
    """Return the logits, in fp32, at each target token that is no padding, and that token."""
    targets = batch.target_out[0]
    keep = targets != PAD
    return model.output(compute_decoder_output(model, batch)[0][keep]).float(), targets[keep]


def rdrop_pair_loss(
    model: Transformer, batch: PairBatch, smoothing: float, alpha: float
) -> Float[Tensor, ""]:
    """Return the R-Drop loss: cross-entropy of two passes with dropout, and the divergence between them."""
    one, other = compute_decoder_output(model, batch)[0], compute_decoder_output(model, batch)[0]
    return rdrop_cross_entropy(one, other, model.output.weight, batch.target_out[0], smoothing, alpha, PAD)


def compute_decoder_output(model: Transformer, batch: PairBatch) -> Float[Tensor, "1 target d_model"]:
    """Return the decoder's output at every target position, before the output projection."""
    source, target = batch.source, batch.target_in
    return model.forward_packed(
        source.tokens,
        PackedSequences(source.starts, source.positions, batch.max_source_length),
        target.tokens,
        PackedSequences(target.starts, target.positions, batch.max_target_length),
    )
