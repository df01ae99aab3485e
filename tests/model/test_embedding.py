import torch

from regard.model.embedding import Embedding
from regard.model.position import paper_position_table


def test_the_output_is_the_scaled_embedding_plus_the_position():
    embedding = Embedding(vocab_size=9, d_model=16, position="paper", max_length=10, dropout=0.0)
    tokens, positions = torch.tensor([[3, 3, 1]]), torch.tensor([[0, 1, 2]])
    expected = embedding.tokens.weight[tokens[0]] * 4 + paper_position_table(3, 16)
    torch.testing.assert_close(embedding(tokens, positions)[0], expected)


def test_dropout_applies_to_the_sum():
    torch.manual_seed(0)
    embedding = Embedding(vocab_size=9, d_model=16, position="paper", max_length=10, dropout=0.5)
    x = embedding(torch.zeros(1, 10, dtype=torch.long), torch.arange(10)[None])
    assert 0.3 < (x == 0).float().mean() < 0.7
