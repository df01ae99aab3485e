"""Every sentence pattern of the phrasebook."""

from functools import cache

from regard.text.phrasebook import actions, dealings, pastimes, states, travel, whereabouts
from regard.text.phrasebook.pattern import Pattern, shared


@cache
def patterns() -> tuple[Pattern, ...]:
    """All patterns, each idea with its share of the sentences."""
    return (
        *shared(0.43, actions.patterns()),
        *shared(0.16, dealings.patterns()),
        *shared(0.14, travel.patterns()),
        *shared(0.12, states.patterns()),
        *shared(0.05, whereabouts.patterns()),
        *shared(0.10, pastimes.patterns()),
    )
