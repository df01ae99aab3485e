import pytest
import torch

from regard.errors import ConfigError
from regard.forecasting.run import ForecastLossConfig
from regard.forecasting.task import forecast_loss, pinball_loss

QUANTILES = (0.1, 0.5, 0.9)


def some():
    torch.manual_seed(0)
    return torch.randn(4, 5, 2, 4), torch.randn(4, 5, 2)


def test_the_loss_is_the_points_error_and_the_quantiles_mean_pinball_loss():
    foretold, target = some()
    total = 0.0
    for place in torch.cartesian_prod(torch.arange(4), torch.arange(5), torch.arange(2)).tolist():
        came, (mean, *quantiles) = target[*place].item(), foretold[*place].tolist()
        total += (mean - came) ** 2
        for share, quantile in zip(QUANTILES, quantiles, strict=True):
            total += (
                2 / 3 * (share * (came - quantile) if came > quantile else (1 - share) * (quantile - came))
            )
    assert forecast_loss(
        foretold, target, QUANTILES, ForecastLossConfig(pinball=2.0)
    ).item() == pytest.approx(total, rel=1e-5)


def test_the_median_is_asked_for_half_the_absolute_error():
    foretold, target = some()
    absolute = forecast_loss(foretold[..., :1], target, (), ForecastLossConfig("absolute"))
    assert torch.allclose(pinball_loss(foretold[..., :1], target, (0.5,)), absolute / 2)


def test_a_quantile_is_best_where_its_share_lies_below_it():
    values = torch.arange(101.0)[None, :, None]
    losses = [pinball_loss(torch.full((1, 101, 1, 1), float(at)), values, (0.9,)) for at in range(101)]
    assert torch.stack(losses).argmin() == 90


@pytest.mark.parametrize("kind", ["squared", "absolute", "huber"])
def test_no_error_is_no_loss(kind):
    _, target = some()
    right = target[..., None].expand(-1, -1, -1, 4)
    assert forecast_loss(right, target, QUANTILES, ForecastLossConfig(kind)) == 0


def test_a_weight_below_zero_is_refused():
    with pytest.raises(ConfigError, match="loss.pinball"):
        ForecastLossConfig(pinball=-1.0)
