"""Step: all that search asks of a model."""

from typing import Protocol, TypeVar, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

State = TypeVar("State")


@runtime_checkable
class Step(Protocol[State]):
    """Writes one token more, in many rows at once; the state belongs to the model alone."""

    def step(self, state: State, token: Int[Tensor, " row"]) -> tuple[Float[Tensor, "row vocab"], State]:
        """Logits of every next token after `token`, and the state that has read it."""
        ...

    def select(self, state: State, rows: Int[Tensor, " row"]) -> State:
        """The state of those rows, in that order."""
        ...
