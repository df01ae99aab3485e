"""A token renderer that shows ids as numbers, for models without a tokenizer."""

from regard.trace.tokens import TokenRenderer


class NumericTokenRenderer(TokenRenderer):
    def __init__(self):
        pass

    def piece(self, id):
        return str(id)

    text = piece

    def line(self, ids):
        return " ".join(map(str, ids))
