"""`regard.Classifier` in the shape of scikit-learn: fit, predict, clone, cross-validation, saving."""

import gc
import io
import subprocess
import sys
from collections import Counter
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

import regard
from regard.classification.label_types import parse_label
from regard.cli.main import main
from regard.errors import CheckpointError, ConfigError, DataError, NotFittedError, RegardError
from small_training import CLASSIFICATION_SETTINGS, LABELS, TEXTS

SETTINGS = {
    **CLASSIFICATION_SETTINGS,
    **{"train.save_every": 50, "optimizer.peak": 0.02, "data.batch_tokens": 600, "model.dropout": 0.0},
}
NUMBERS = {"animal": 10, "colour": 9, "number": -1}


def unfitted(steps: int = 2, **params) -> regard.Classifier:
    return regard.Classifier(**{"steps": steps, "settings": SETTINGS, "device": "cpu", **params})


@pytest.fixture(scope="module")
def fitted():
    return unfitted(steps=50).fit(TEXTS, LABELS)


def test_fit_learns_and_returns_the_classifier_with_its_parameters_untouched():
    classifier, settings = unfitted(steps=50), dict(SETTINGS)
    before = dict(classifier.get_params())
    assert classifier.fit(TEXTS, LABELS) is classifier
    assert classifier.get_params() == before
    assert classifier.settings is SETTINGS
    assert settings == SETTINGS
    assert classifier.score(TEXTS, LABELS) > 0.8


def test_predictions_are_labels_and_probabilities_in_the_order_of_the_classes(fitted):
    assert fitted.classes_.tolist() == ["animal", "colour", "number"]
    probabilities, predicted = fitted.predict_proba(TEXTS), fitted.predict(TEXTS)
    assert probabilities.shape == (len(TEXTS), 3)
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert (fitted.classes_[probabilities.argmax(axis=1)] == predicted).all()
    assert [each.label for each in fitted.classify(TEXTS)] == predicted.tolist()
    hits = predicted == np.array(LABELS)
    assert fitted.score(TEXTS, LABELS) == pytest.approx(hits.mean())
    weights = np.linspace(1, 2, len(TEXTS))
    assert fitted.score(TEXTS, LABELS, weights) == pytest.approx((hits * weights).sum() / weights.sum())


def test_no_texts_have_no_predictions(fitted):
    assert fitted.predict([]).tolist() == []
    assert fitted.predict_proba([]).shape == (0, 3)


@pytest.mark.parametrize("container", [list, np.array, pd.Series, lambda labels: pd.Series(labels)[::1]])
@pytest.mark.parametrize(
    "label_of",
    [str, NUMBERS.get, lambda label: label == "animal", lambda label: np.int32(NUMBERS[label])],
    ids=["text", "integer", "boolean", "numpy"],
)
def test_labels_come_back_as_they_were_given(container, label_of, tmp_path):
    labels = [label_of(label) for label in LABELS]
    classifier = unfitted().fit(TEXTS, container(labels))
    expected = sorted(set(np.array(labels).tolist()))
    assert classifier.classes_.tolist() == expected
    assert classifier.classes_.dtype.kind == np.array(expected).dtype.kind
    classifier.save(tmp_path / "model")
    loaded = regard.Classifier.load(tmp_path / "model", "cpu")
    assert loaded.classes_.tolist() == expected
    assert loaded.classes_.dtype == classifier.classes_.dtype
    assert loaded.predict(TEXTS).tolist() == classifier.predict(TEXTS).tolist()
    assert np.array_equal(loaded.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
    assert set(map(type, loaded.predict(TEXTS).tolist())) == {type(expected[0])}


@pytest.mark.parametrize(
    "texts",
    [
        np.array(TEXTS),
        np.array(TEXTS, dtype=object)[:, None],
        pd.Series(TEXTS, index=range(5, 5 + len(TEXTS))),
        pl.Series(TEXTS),
        pd.DataFrame({"text": TEXTS}),
        tuple(TEXTS),
    ],
    ids=["array", "column", "pandas", "polars", "frame", "tuple"],
)
def test_texts_may_be_a_list_an_array_or_a_column(fitted, texts):
    assert fitted.predict(texts).tolist() == fitted.predict(TEXTS).tolist()


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (TEXTS, LABELS[1:], "texts has 75 texts and labels 74; they go together one by one"),
        (TEXTS, None, "labels must be a list with a label for each text"),
        (TEXTS, [1.5] * 75, "labels must all be text or whole numbers or True and False, .* 1.5 in row 0"),
        (TEXTS, [1, "a"] * 37 + [1], "1 in row 0; 'a' in row 1"),
        (TEXTS, [None, *LABELS[1:]], "none in row 0"),
        ([None, *TEXTS[1:]], LABELS, "texts is missing in row 0"),
        (pd.DataFrame({"a": TEXTS, "b": TEXTS}), LABELS, "texts has the columns a, b; give the one"),
        (TEXTS, [" a", *LABELS[1:]], "labels has ' a' in row 0, which a model writes as 'a'"),
        ([], [], "labels must all be"),
    ],
)
def test_data_that_cannot_be_fitted_are_refused_in_words(texts, labels, message):
    with pytest.raises(DataError, match=message):
        unfitted().fit(texts, labels)


def test_one_text_without_a_list_is_refused(fitted):
    for call in (fitted.predict, fitted.predict_proba, fitted.classify):
        with pytest.raises(TypeError, match=r"for one text, give \[text\]"):
            call("a cat")


def test_labels_of_another_type_or_number_are_not_scored(fitted):
    with pytest.raises(DataError, match="labels are whole numbers, and the classifier predicts text"):
        fitted.score(TEXTS, [1] * len(TEXTS))
    with pytest.raises(DataError, match="texts has 1 texts and labels 2"):
        fitted.score(TEXTS[:1], LABELS[:2])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "classify", "logits"])
def test_an_unfitted_classifier_says_so(method):
    with pytest.raises(NotFittedError, match="call fit, or use regard.Classifier.load"):
        getattr(unfitted(), method)(TEXTS)
    assert issubclass(NotFittedError, RegardError)
    assert issubclass(NotFittedError, ValueError)
    assert not hasattr(unfitted(), "classes_")
    with pytest.raises(NotFittedError):
        unfitted().save("nowhere")


def test_equal_seeds_give_equal_models():
    def probabilities(seed):
        return unfitted().set_params(random_state=seed).fit(TEXTS, LABELS).predict_proba(TEXTS[:5])

    first = probabilities(3)
    assert np.array_equal(first, probabilities(np.int64(3)))
    assert not np.array_equal(first, probabilities(4))
    with pytest.raises(TypeError, match="random_state must be a whole number or none"):
        probabilities(np.random.RandomState(0))


def test_a_second_fit_replaces_the_first():
    classifier = unfitted().fit(TEXTS, LABELS)
    classifier.set_params(steps=3).fit(TEXTS, [label == "animal" for label in LABELS])
    assert classifier.classes_.tolist() == [False, True]


def test_parameters_are_read_set_and_shown():
    classifier = regard.Classifier(steps=5)
    assert classifier.get_params() == {
        **dict.fromkeys(["minutes", "epochs", "random_state", "settings", "out", "build_model", "loss"]),
        **{"steps": 5, "device": "auto", "callbacks": (), "progress": False},
    }
    assert classifier.set_params(steps=7, random_state=1) is classifier
    assert repr(classifier) == "Classifier(steps=7, random_state=1)"
    with pytest.raises(ValueError, match="no keyword 'setps'; did you mean steps"):
        classifier.set_params(setps=3)
    with pytest.raises(ConfigError, match=r"model.layer is not a setting"):
        unfitted(settings={"model.layer": 3}).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    "check",
    [
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_estimator_tags_renamed",
        "check_get_params_invariance",
        "check_set_params",
        "check_estimator_repr",
        "check_estimator_cloneable",
        "check_valid_tag_types",
    ],
)
def test_checks_of_scikit_learn_that_need_no_numbers(check):
    getattr(estimator_checks, check)("Classifier", regard.Classifier())


def test_a_clone_has_the_parameters_and_no_model(fitted):
    copied = clone(fitted)
    assert copied.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copied.predict(TEXTS)
    check_is_fitted(fitted)
    assert is_classifier(copied)


def test_cross_validation_pipelines_and_grid_search():
    scores = cross_val_score(unfitted(), TEXTS, LABELS, cv=2, scoring="neg_log_loss", error_score="raise")
    assert scores.shape == (2,)
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = Pipeline([("lower", lower), ("classify", unfitted())])
    search = GridSearchCV(pipeline, {"classify__steps": [1, 60]}, cv=2, error_score="raise")
    search.fit(pd.Series(TEXTS), np.array(LABELS))
    assert search.best_params_ == {"classify__steps": 60}
    assert search.predict(["A CAT"]).shape == (1,)
    assert search.score(TEXTS, LABELS) > 0.6


def test_an_unfitted_classifier_is_pickled_and_a_fitted_one_refuses_in_words(fitted):
    file = io.BytesIO()
    joblib.dump(unfitted(random_state=2), file)
    file.seek(0)
    assert joblib.load(file).get_params() == unfitted(random_state=2).get_params()
    with pytest.raises(TypeError, match=r"use its save\(folder\), and regard.Classifier.load\(folder\)"):
        joblib.dump(fitted, io.BytesIO())


def test_a_model_is_saved_once_and_read_by_the_command(fitted, tmp_path, capsysbinary):
    fitted.save(tmp_path / "model")
    with pytest.raises(CheckpointError, match="exists already"):
        fitted.save(tmp_path / "model")
    (tmp_path / "texts").write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    main(["classify", str(tmp_path / "model"), "--input", str(tmp_path / "texts"), "--device", "cpu"])
    assert capsysbinary.readouterr().out.decode().split() == fitted.predict(TEXTS).tolist()


def test_the_temporary_folder_lives_as_long_as_the_model(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    classifier = unfitted().fit(TEXTS, LABELS)
    [folder] = tmp_path.iterdir()
    assert [path.name for path in folder.iterdir()] == ["model"]
    classifier.fit(TEXTS, LABELS)
    gc.collect()
    assert len(list(tmp_path.iterdir())) == 1
    del classifier
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RegardError):
        unfitted().fit(TEXTS, ["one"] * len(TEXTS))
    assert list(tmp_path.iterdir()) == []


def test_a_run_in_a_folder_is_kept(tmp_path):
    held_out = {"valid_texts": TEXTS[:9], "valid_labels": LABELS[:9]}
    classifier = unfitted(out=tmp_path / "run").fit(TEXTS[9:], LABELS[9:], **held_out)
    assert (tmp_path / "run" / "model" / "labels.json").is_file()
    loaded = regard.Classifier.load(tmp_path / "run", "cpu")
    assert np.array_equal(loaded.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
    with pytest.raises(DataError, match="these are not the data that .* was started with"):
        unfitted(out=tmp_path / "run").fit(TEXTS[1:], LABELS[1:])


def test_train_keeps_whole_numbers_too(tmp_path):
    numbers = [NUMBERS[label] for label in LABELS]
    table = pd.DataFrame({"text": TEXTS, "label": numbers})
    for number, data in enumerate(({"texts": TEXTS, "labels": numbers}, {"labelled": table})):
        out = tmp_path / str(number)
        classifier = regard.train(out=out, steps=2, settings=SETTINGS, progress=False, **data)
        assert classifier.classes_.tolist() == sorted(Counter(numbers))


@pytest.mark.parametrize(
    ("text", "label_type"), [("animal", "integer"), ("1.0", "integer"), ("1", "boolean")]
)
def test_a_label_of_another_type_than_the_settings_say_is_refused(text, label_type):
    with pytest.raises(CheckpointError, match=f"the label '{text}' is not of data.label_type = {label_type}"):
        parse_label(text, label_type)


def test_scikit_learn_is_not_imported():
    code = "import sys, regard; regard.Classifier(steps=1).get_params(); assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
