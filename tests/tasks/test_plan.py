import pytest
from rich.console import Console

from regard.data.config import DataConfig
from regard.tasks.plan import plan, plan_for

QUIET = Console(quiet=True)


def test_more_text_gets_a_larger_model_and_fewer_epochs():
    sizes = [
        plan_for(pairs, pairs * 15, gpu=True) for pairs in (1_000, 29_000, 150_000, 1_000_000, 5_000_000)
    ]
    widths = [found.run.model.d_model for found in sizes]
    pieces = [found.run.model.vocab_size for found in sizes]
    assert widths == sorted(widths) == [128, 128, 256, 512, 512]
    assert pieces == sorted(pieces)
    dropouts = [found.run.model.dropout for found in sizes]
    assert dropouts[-1] == 0.1  # the paper's, where text is plenty


def test_a_cpu_gets_no_more_than_it_can_do_in_an_hour_or_two():
    for pairs in (29_000, 1_000_000, 100_000_000):
        run = plan_for(pairs, pairs * 15, gpu=False).run
        assert run.model.d_model <= 256
        assert run.train.steps * run.data.batch_tokens <= 26e6
        assert run.loss.rdrop == 0


@pytest.mark.parametrize("tokens", [0, 10, 5_000])
def test_a_handful_of_pairs_gets_small_batches_and_enough_steps(tokens):
    run = plan_for(10, tokens, gpu=True).run
    assert run.data.batch_tokens == 512
    assert run.train.steps >= 1000


@pytest.mark.parametrize("steps", [1, 7, 2000])
def test_rates_and_saves_follow_the_steps_that_were_asked_for(steps):
    run = plan_for(29_000, 400_000, gpu=False, steps=steps).run
    assert run.train.steps == steps
    assert run.optimizer.warmup <= max(1, steps // 5)
    assert run.optimizer.cooldown <= max(1, steps // 2)


def test_the_files_are_measured_and_the_reason_is_said(tmp_path):
    source, target, both = tmp_path / "a.en", tmp_path / "a.fr", tmp_path / "b.tsv"
    source.write_text("one two\n" * 10)
    target.write_text("un deux\n" * 10)
    both.write_text("one\tun\n" * 5)
    data = DataConfig(
        source=(str(source),), target=(str(target),), pairs=(str(both),), cache=str(tmp_path / "cache")
    )
    why = plan(data, "cpu", None, QUIET).why
    assert why.startswith("15 pairs, about 19 target tokens, on a CPU: a tiny model, ")
