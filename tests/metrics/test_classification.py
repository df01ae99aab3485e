import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import calibration_bin_by_bin, one_against_all
from regard.metrics.classification import (
    CALIBRATION_BINS,
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    class_probabilities,
    classification_metrics,
    confusion_matrix,
    expected_calibration_error,
    fit_temperature,
    negative_log_likelihood,
)

LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


def matrix_of(pairs):
    true, predicted = np.array(pairs, np.int64).T
    return confusion_matrix(true, predicted, 4)


@given(LABELS)
def test_rows_of_the_confusion_matrix_are_true_labels_and_columns_predicted_ones(pairs):
    matrix = matrix_of(pairs)
    for row in range(4):
        for column in range(4):
            assert matrix[row, column] == pairs.count((row, column))


@given(LABELS)
def test_all_metrics_equal_counts_text_by_text(pairs):
    metrics = classification_metrics(matrix_of(pairs))
    true, predicted = ([pair[side] for pair in pairs] for side in (0, 1))
    assert metrics.accuracy == pytest.approx(sum(t == p for t, p in pairs) / len(pairs))
    each = [one_against_all(true, predicted, label) for label in range(4)]
    for score, expected in zip(metrics.classes, each, strict=True):
        assert (score.precision, score.recall, score.f1) == pytest.approx(expected)
    occur = set(true) | set(predicted)
    assert metrics.macro_f1 == pytest.approx(sum(each[label][2] for label in occur) / len(occur))
    assert [score.texts for score in metrics.classes] == [true.count(label) for label in range(4)]


def test_a_label_that_never_occurs_does_not_lower_macro_f1():
    assert classification_metrics(matrix_of([(0, 0), (1, 1)])).macro_f1 == 1.0


def test_an_empty_confusion_matrix_gives_zeros():
    empty = classification_metrics(np.zeros((2, 2), np.int64))
    assert (empty.accuracy, empty.macro_f1) == (0.0, 0.0)


SEEDS = st.integers(0, 1_000)


def sample_scores(seed, texts=200, classes=3, spread=3.0):
    random = np.random.default_rng(seed)
    return random.normal(size=(texts, classes)) * spread, random.integers(0, classes, texts)


def sample_calibrated(seed, texts=4_000, classes=4):
    """Scores, and labels sampled from their probabilities."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=(texts, classes)) * 2
    return scores, np.array([random.choice(classes, p=row) for row in class_probabilities(scores)])


@given(SEEDS, st.floats(0.1, 10))
def test_probabilities_and_likelihood_equal_those_of_torch(seed, temperature):
    scores, true = sample_scores(seed)
    tensor = torch.from_numpy(scores) / temperature
    np.testing.assert_allclose(class_probabilities(scores, temperature), tensor.softmax(1).numpy(), rtol=1e-9)
    expected = torch.nn.functional.cross_entropy(tensor, torch.from_numpy(true)).item()
    assert negative_log_likelihood(scores, true, temperature) == pytest.approx(expected)


@given(SEEDS, st.floats(0.1, 10))
def test_calibration_error_equals_a_loop_over_bins(seed, temperature):
    scores, true = sample_scores(seed)
    probabilities = class_probabilities(scores, temperature)
    is_correct = (probabilities.argmax(1) == true).tolist()
    expected = calibration_bin_by_bin(probabilities.max(1).tolist(), is_correct, CALIBRATION_BINS)
    assert expected_calibration_error(scores, true, temperature) == pytest.approx(expected)


@pytest.mark.parametrize("factor", [0.25, 1.0, 3.0])
def test_the_fitted_temperature_inverts_a_factor_of_the_scores(factor):
    scores, true = sample_calibrated(1)
    assert fit_temperature(scores * factor, true) == pytest.approx(factor, rel=0.1)


def test_a_fitted_temperature_calibrates_overconfident_probabilities():
    scores, true = sample_calibrated(2)
    overconfident = scores * 4
    fitted = fit_temperature(overconfident, true)
    before, after = (expected_calibration_error(overconfident, true, t) for t in (1.0, fitted))
    assert before > 0.15
    assert after < 0.03


@given(SEEDS)
@settings(max_examples=20)
def test_no_temperature_on_a_grid_is_better_than_the_fitted_one(seed):
    scores, true = sample_scores(seed, texts=60)
    best = negative_log_likelihood(scores, true, fit_temperature(scores, true))
    for temperature in np.geomspace(MIN_TEMPERATURE, MAX_TEMPERATURE, 60):
        assert best <= negative_log_likelihood(scores, true, float(temperature)) + 1e-6


def test_the_temperature_is_1_if_all_predictions_are_correct_and_finite_if_none_is():
    scores = np.array([[5.0, 0.0], [0.0, 5.0]])
    assert fit_temperature(scores, np.array([0, 1])) == 1
    assert fit_temperature(scores, np.array([1, 0])) == pytest.approx(MAX_TEMPERATURE, rel=1e-3)


def test_probabilities_do_not_overflow():
    assert class_probabilities(np.array([[1e5, 0.0]])).tolist() == [[1.0, 0.0]]
