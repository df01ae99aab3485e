"""Step: all that search asks of a model."""

from typing import Protocol, TypeVar, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

ModelState = TypeVar("ModelState")


@runtime_checkable
class StepModel(Protocol[ModelState]):
    """Writes one token more, in many rows at once; the state belongs to the model alone.

    A row is a hypothesis. A state begins with one row for each sentence; after `expand` the rows of
    a sentence lie side by side. Sentence and hypothesis are told apart because all hypotheses of a
    sentence read the same source, which need not be moved when they change places.
    """

    def step(
        self, state: ModelState, token: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row vocab"], ModelState]:
        """Logits of every next token after `token`, and the state that has read it."""
        ...

    def expand(self, state: ModelState, beam: int) -> ModelState:
        """The state with so many rows for each sentence, all as its one row was."""
        ...

    def reorder(self, state: ModelState, rows: Int[Tensor, " row"]) -> ModelState:
        """The state whose row i goes on from row `rows[i]`, of the same sentence."""
        ...

    def select(self, state: ModelState, sentences: Int[Tensor, " sentence"]) -> ModelState:
        """The state of those sentences, in that order, each with all its rows."""
        ...
