"""A forecaster looked into: which stretch of the past each stretch to come looks at, in every head."""

from pathlib import Path
from time import perf_counter

import torch

from regard.data.series.table import Table
from regard.model.visible import EVERYTHING
from regard.tasks.forecast_folder import TASK, load_forecaster
from regard.tasks.forecaster import Forecaster
from regard.tasks.glance import glance
from regard.tasks.identity import Identity, identity_of_folder
from regard.tasks.last_window import last_window
from regard.tasks.model_facts import model_facts
from regard.trace.capture import Captured, through_decoder, through_encoder
from regard.trace.parts import ModelFacts, Side, Target, Token, Vocab
from regard.trace.request import MAX_TRACE_TOKENS, LengthError, Request
from regard.trace.trace import Trace
from regard.train.device import Device, choose_device


class SeriesTracer:
    """Looks into what one forecaster foretells after the last row of a table."""

    def __init__(self, forecaster: Forecaster, identity: Identity, table: Table) -> None:
        self._forecaster, self._identity, self._table = forecaster, identity, table

    @staticmethod
    def load(folder: Path, table: Path, device: Device = "auto") -> "SeriesTracer":
        """The model of a folder, asked about a file."""
        found = load_forecaster(folder)
        forecaster = Forecaster(found.network.to(choose_device(device)), found.known)
        return SeriesTracer(forecaster, identity_of_folder(folder, found.manifest), forecaster.read(table))

    @torch.inference_mode()
    def trace(self, text: str, max_tokens: int = MAX_TRACE_TOKENS) -> Trace:
        """Of the series of that name, the first if it has none; its tokens are stretches of time."""
        began = perf_counter()
        network, window = self._forecaster.network, last_window(self._forecaster, self._table, text or None)
        longest = max(len(window.seen), len(window.foretold))
        if longest > max_tokens:
            raise LengthError("the window", longest, max_tokens, "max_tokens")
        encoder, encoded = through_encoder(network.encoder, window.source, EVERYTHING)
        decoder, decoded = through_decoder(network.decoder, window.asked, encoded, window.visible, EVERYTHING)
        captured = Captured(
            window.source[0], window.asked[0], encoder, decoder, encoded[0], network.output(decoded)[0]
        )
        values = ", ".join(f"{value:.4g}" for value in window.values.tolist())
        return glance(
            self.facts(),
            Request(window.series),
            Side(window.series, _stretches(window.seen)),
            Target(values, 0.0, 0.0, False, _stretches(window.foretold)),
            captured,
            1000 * (perf_counter() - began),
        )

    @property
    def series(self) -> tuple[str, ...]:
        """The names that can be asked for."""
        return tuple(self._table.columns)

    def facts(self) -> ModelFacts:
        """What a trace says of its model."""
        network = self._forecaster.network
        config = network.config
        layers, vocab = (config.encoder_layers, config.decoder_layers), Vocab(config.patch, config.patch)
        causal = network.visible.causal
        return model_facts(self._identity, network, config, layers, vocab, TASK, causal=causal)


def _stretches(times: tuple[str, ...]) -> tuple[Token, ...]:
    """Each its own word: nothing joins two of them."""
    return tuple(Token(number, text, text, None, None, number) for number, text in enumerate(times))
