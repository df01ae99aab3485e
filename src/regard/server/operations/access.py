"""Who may use the translation server: the decision that every HTTP surface asks for before it translates."""

from typing import NamedTuple, Protocol, runtime_checkable

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


class KeyUsage(NamedTuple):
    """Characters that a key has used and may use."""

    characters: int
    limit: int | None
    """None: no limit."""


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

    def refund(self, key: str | None, characters: int) -> None:
        """Count the characters of an admitted request as not used: it was refused or failed after all."""
        ...

    async def usage(self, key: str | None) -> KeyUsage:
        """Return what a key has used and may use; raise `AccessError` if it is not accepted."""
        ...


class OpenAccess:
    """Everyone may translate; clients are told apart by their address."""

    has_keys = key_required = False

    def __init__(self) -> None:
        self._characters = 0

    async def admit(self, key: str | None, address: str, characters: int) -> str:  # noqa: ARG002
        self._characters += characters
        return address

    def refund(self, key: str | None, characters: int) -> None:  # noqa: ARG002
        self._characters -= characters

    async def usage(self, key: str | None) -> KeyUsage:  # noqa: ARG002
        """Return the characters of all clients since the server started."""
        return KeyUsage(self._characters, None)
