"""Who may use the translation server: the decision that every HTTP surface asks for before it translates."""

from typing import Protocol, runtime_checkable

from regard.errors import RegardError


class AccessError(RegardError):
    """A request that is not permitted; the message is for the client."""


class KeyRequiredError(AccessError):
    """A request without an API key, where one is needed."""


class UnknownKeyError(AccessError):
    """A request with an API key that does not exist or was revoked."""


class RateExceededError(AccessError):
    """A client that sends more than its key or address may per minute."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """In seconds."""


class QuotaExceededError(AccessError):
    """A key whose characters are used up."""


@runtime_checkable
class AccessControl(Protocol):
    """Decides about requests, and counts their characters."""

    @property
    def has_keys(self) -> bool:
        """Whether API keys are in use."""
        ...

    @property
    def key_required(self) -> bool:
        """Whether requests without a key are refused."""
        ...

    async def admit(self, key: str | None, address: str, characters: int) -> str:
        """Return the client's name, by which the engine is shared fairly; raise `AccessError`.

        `characters` are counted as used.
        """
        ...


class OpenAccess:
    """Everyone may translate; clients are told apart by their address."""

    has_keys = key_required = False

    async def admit(self, key: str | None, address: str, characters: int) -> str:  # noqa: ARG002
        return address
