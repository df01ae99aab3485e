"""StepModel: what a search needs of a model."""

from typing import Protocol, TypeVar, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

ModelState = TypeVar("ModelState")

COMPACTION_SHARE = 0.75
"""Finished sentences leave the batch once at most this share is unfinished: moving rows costs time."""


@runtime_checkable
class StepModel(Protocol[ModelState]):
    """Predicts the next token of many hypotheses at once; only the model looks inside its state.

    A row is a hypothesis. A state starts with one row per sentence; after `expand` the rows of a sentence
    are adjacent. `reorder` and `select` are separate because all hypotheses of a sentence share one source,
    which need not be moved when hypotheses change places.
    """

    def step(
        self, state: ModelState, token: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row vocab"], ModelState]:
        """Return the logits of the token after `token`, and the state that includes `token`."""
        ...

    def expand(self, state: ModelState, beam: int) -> ModelState:
        """Return the state with `beam` copies of each sentence's one row."""
        ...

    def reorder(self, state: ModelState, rows: Int[Tensor, " row"]) -> ModelState:
        """Return the state whose row i continues row `rows[i]`, which belongs to the same sentence."""
        ...

    def select(self, state: ModelState, sentences: Int[Tensor, " sentence"]) -> ModelState:
        """Return the state of these sentences, in this order, each with all its rows."""
        ...
