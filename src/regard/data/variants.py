"""One corpus in several tokenizations, so that epochs differ in more than their order."""

from collections.abc import Sequence

from regard.data.ids import Ids, flatten
from regard.text.segmenting import Sampler
from regard.text.tokenizer import Tokenizer
from regard.text.words import split_words


def variants(tokenizer: Tokenizer, texts: Sequence[str], dropout: float, count: int, seed: int) -> list[Ids]:
    """`count` tokenizations with BPE dropout; without dropout they would be one, and one comes back."""
    if dropout == 0:
        return [flatten(tokenizer.tokenize(texts))]
    words, sampler = split_words(tokenizer, texts), Sampler(tokenizer, dropout, seed)
    return [Ids(*sampler.sample(words, variant)) for variant in range(count)]
