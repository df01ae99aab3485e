"""Classifier: `fit` and `predict` in the shape of scikit-learn, which is not needed for it."""

import importlib
import inspect
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Shaped

from regard.checkpoint import find_model_folder, publish_model
from regard.classification.label_predictor import Classification, LabelPredictor
from regard.classification.label_types import TYPE_NAMES, LabelType, parse_label, read_labels
from regard.classification.model_folder import BuildClassifier
from regard.classification.run import LabelledDataConfig
from regard.data.frames import column_values, is_table, table_columns
from regard.errors import CheckpointError, DataError, NotFittedError
from regard.text.labelled_files import clean_label
from regard.training.callbacks import Callback
from regard.training.device import DeviceChoice
from regard.training.model_files import read_config_section
from regard.translation.keywords import reject_unknown_keywords

if TYPE_CHECKING:
    from torch import Tensor

    from regard.model.transformer_classifier import TransformerClassifier
    from regard.text.tokenizer import Tokenizer


class FittedClassifier(NamedTuple):
    """A trained model with its labels as Python values."""

    predictor: LabelPredictor
    label_type: LabelType
    classes: Shaped[np.ndarray, " classes"]
    """Sorted, each as it was given to `fit`."""
    order: Shaped[np.ndarray, " classes"]
    """The index of each class in the labels of the model, which are sorted as text."""
    folder: Path
    """The model folder."""


class Classifier:
    """Predicts the labels of texts; trained with `fit`, as in scikit-learn, or loaded with `load`.

    No argument is needed: without `minutes`, `steps` and `epochs`, the number of texts decides how long
    `fit` trains. `random_state` is the seed, a whole number; none is the default seed, so that two
    trainings are equal. `settings` are those of docs/settings.md, as `{"model.dropout": 0.2}`. The run is
    kept in the folder `out`, or nowhere. `callbacks`, `build_model` and `loss` are those of `regard.train`.
    """

    _estimator_type = "classifier"
    _fitted: FittedClassifier | None = None

    def __init__(
        self,
        *,
        minutes: float | None = None,
        steps: int | None = None,
        epochs: float | None = None,
        random_state: int | None = None,
        settings: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        device: DeviceChoice = "auto",
        callbacks: Iterable[Callback] = (),
        build_model: BuildClassifier | None = None,
        loss: "Callable[[Tensor, Tensor], Tensor] | None" = None,
        progress: bool = False,
    ) -> None:
        self.minutes, self.steps, self.epochs = minutes, steps, epochs
        self.random_state, self.settings, self.out = random_state, settings, out
        self.device: DeviceChoice = device
        self.callbacks, self.build_model, self.loss = callbacks, build_model, loss
        self.progress = progress

    @classmethod
    def load(
        cls,
        folder: str | Path,
        device: DeviceChoice = "auto",
        *,
        threads: int | None = None,
        build_model: BuildClassifier | None = None,
    ) -> "Classifier":
        """Load the model that `regard train` or `save` wrote; `threads` limits the CPU threads of torch.

        `build_model` is that of a custom model (docs/python.md).
        """
        classifier = cls(device=device, build_model=build_model)
        model_folder = find_model_folder(Path(folder))
        predictor = LabelPredictor.load(model_folder, device, threads=threads, build_model=build_model)
        label_type = read_config_section(model_folder, LabelledDataConfig, "data").label_type
        labels = [parse_label(label, label_type) for label in predictor.labels]
        order = sorted(range(len(labels)), key=lambda index: labels[index])
        classifier._fitted = FittedClassifier(
            predictor,
            label_type,
            np.array([labels[index] for index in order]),
            np.array(order),
            model_folder,
        )
        return classifier

    def fit(
        self, texts: Any, labels: Any, *, valid_texts: Any = None, valid_labels: Any = None
    ) -> "Classifier":
        """Train on texts with a label each, which are text, whole numbers, or True and False.

        Without `valid_texts` and `valid_labels`, up to a tenth of the texts is held out to choose the best
        checkpoint and to calibrate probabilities. What was fitted before is replaced.
        """
        data: dict[str, Any] = {"texts": _read_texts("texts", texts)}
        data["labels"], label_type = _read_clean_labels("labels", labels)
        if valid_texts is not None or valid_labels is not None:
            data["valid_texts"] = _read_texts("valid_texts", [] if valid_texts is None else valid_texts)
            data["valid_labels"], _ = _read_clean_labels("valid_labels", valid_labels)
        settings = {"data.label_type": label_type, "compute.device": self.device, **(self.settings or {})}
        if self.out is not None:
            self._fitted = self._train(Path(self.out), data, settings)
        else:
            self._fitted = self._train_in_temporary_folder(data, settings)
        return self

    def predict(self, texts: Any) -> Shaped[np.ndarray, " texts"]:
        """Return the most probable label of each text, of the type that `fit` was given."""
        fitted = self._require_fitted()
        probabilities = fitted.predictor.probabilities(_read_texts("texts", texts))
        best = probabilities.argmax(axis=1) if len(probabilities) else np.zeros(0, np.int64)
        return fitted.classes[np.argsort(fitted.order)[best]]

    def predict_proba(self, texts: Any) -> Float64[np.ndarray, "texts classes"]:
        """Return the calibrated probability of each label for each text, in the order of `classes_`."""
        fitted = self._require_fitted()
        return fitted.predictor.probabilities(_read_texts("texts", texts))[:, fitted.order]

    def score(self, texts: Any, labels: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of texts whose predicted label is the given one."""
        fitted = self._require_fitted()
        expected, label_type = read_labels("labels", labels)
        predicted = self.predict(texts)
        if len(expected) != len(predicted):
            counts = f"texts has {len(predicted):,} texts and labels {len(expected):,}"
            raise DataError(f"{counts}; they go together one by one")
        if label_type != fitted.label_type:
            raise DataError(
                f"labels are {TYPE_NAMES[label_type]}, and the classifier predicts "
                f"{TYPE_NAMES[fitted.label_type]}; give labels of the same type"
            )
        hits = [one == other for one, other in zip(predicted.tolist(), expected, strict=True)]
        return float(np.average(hits, weights=sample_weight))

    def classify(
        self, texts: Sequence[str], *, on_done: Callable[[int], None] | None = None
    ) -> list[Classification]:
        """Classify texts, in order, with labels as text.

        Of a text with too many tokens, the beginning is used. A blank text gets the distribution that the
        model predicts without input. `on_done` is called after each batch with the number of texts in it.
        """
        return self._require_fitted().predictor.classify(texts, on_done=on_done)

    def logits(self, texts: Sequence[str]) -> Float64[np.ndarray, "texts classes"]:
        """Return the logit of every one of `labels` for every text, before temperature and softmax."""
        return self._require_fitted().predictor.logits(texts)

    def save(self, folder: str | Path) -> None:
        """Write the model to a new folder, which `load` and `regard classify` read."""
        if Path(folder).exists():
            raise CheckpointError(f"{folder} exists already; a model folder is written once")
        publish_model(self._require_fitted().folder, Path(folder))

    @property
    def classes_(self) -> Shaped[np.ndarray, " classes"]:
        """The labels, sorted."""
        return self._require_fitted().classes

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels as text, sorted as text."""
        return self._require_fitted().predictor.labels

    @property
    def temperature(self) -> float:
        """What logits are divided by, so that probabilities are calibrated."""
        return self._require_fitted().predictor.temperature

    @property
    def network(self) -> "TransformerClassifier":
        """The model."""
        return self._require_fitted().predictor.network

    @property
    def tokenizer(self) -> "Tokenizer":
        return self._require_fitted().predictor.tokenizer

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002  # no argument is an estimator
        """Return the arguments of the constructor by name."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> "Classifier":
        """Set arguments of the constructor; `fit` uses them."""
        try:
            reject_unknown_keywords("set_params", params, self._parameters())
        except TypeError as error:
            raise ValueError(str(error)) from None  # as scikit-learn does
        for name, value in params.items():
            setattr(self, name, value)
        return self

    @classmethod
    def _parameters(cls) -> dict[str, Any]:
        """Return the arguments of the constructor with their defaults."""
        arguments = inspect.signature(cls.__init__).parameters
        return {name: each.default for name, each in arguments.items() if name != "self"}

    def __repr__(self) -> str:
        defaults = self._parameters()
        given = {name: value for name, value in self.get_params().items() if value != defaults[name]}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def __getstate__(self) -> dict[str, Any]:
        if self._fitted is not None:
            raise TypeError(
                "a fitted Classifier is not pickled, since loading a pickle runs any code in it; "
                "use its save(folder), and regard.Classifier.load(folder)"
            )
        return vars(self)

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn, which alone calls this, asks about an estimator."""
        utils: Any = importlib.import_module("sklearn.utils")
        return utils.Tags(
            estimator_type="classifier",
            target_tags=utils.TargetTags(required=True),
            classifier_tags=utils.ClassifierTags(),
            input_tags=utils.InputTags(two_d_array=False, one_d_array=True, string=True),
        )

    def _require_fitted(self) -> FittedClassifier:
        if self._fitted is None:
            raise NotFittedError("this Classifier has no model yet; call fit, or use regard.Classifier.load")
        return self._fitted

    def _train(self, out: Path, data: Mapping[str, Any], settings: Mapping[str, Any]) -> FittedClassifier:
        from regard.api.train import train

        trained = train(
            out=out,
            **data,
            minutes=self.minutes,
            steps=self.steps,
            epochs=self.epochs,
            seed=_read_seed(self.random_state),
            settings=settings,
            callbacks=self.callbacks,
            build_model=self.build_model,
            loss=self.loss,
            progress=self.progress,
        )
        assert isinstance(trained, Classifier)
        return trained._require_fitted()

    def _train_in_temporary_folder(
        self, data: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> FittedClassifier:
        """Train in a folder of which the model is kept, until it is no longer used."""
        temporary = Path(tempfile.mkdtemp(prefix="regard-"))
        try:
            cache = {"data.cache": str(temporary / "cache")}
            fitted = self._train(temporary / "run", data, {**cache, **settings})
            folder = temporary / "model"
            fitted.folder.rename(folder)
            for name in ("run", "cache"):
                shutil.rmtree(temporary / name, ignore_errors=True)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        weakref.finalize(fitted.predictor, shutil.rmtree, temporary, ignore_errors=True)
        return fitted._replace(folder=folder)


def _read_texts(name: str, texts: Any) -> list[str]:
    """Return the texts of a list, an array, a Series or a table with one column."""
    if isinstance(texts, str):
        raise TypeError(f"{name} must be a list of texts; for one text, give [text]")
    if is_table(texts):
        columns = table_columns(texts)
        if len(columns) != 1:
            raise DataError(f"{name} has the columns {', '.join(columns)}; give the one with the texts")
        [values] = columns.values()
    else:
        values = column_values(texts.reshape(-1) if getattr(texts, "shape", ())[1:] == (1,) else texts)
    for number, value in enumerate(values):
        if not isinstance(value, str):
            what = "is missing" if value is None else f"is {type(value).__name__}, not text"
            raise DataError(f"{name} {what} in row {number}; drop that row, or correct it")
    return values


def _read_clean_labels(name: str, labels: Any) -> tuple[list[str | int | bool], LabelType]:
    """Return labels that a model can give back as they are."""
    values, label_type = read_labels(name, labels)
    for number, label in enumerate(values):
        if isinstance(label, str) and clean_label(label) != label:
            raise DataError(
                f"{name} has {label!r} in row {number}, which a model writes as {clean_label(label)!r}; "
                "write it so"
            )
    return values, label_type


def _read_seed(random_state: Any) -> int | None:
    if random_state is None or isinstance(random_state, int | np.integer):
        return None if random_state is None else int(random_state)
    raise TypeError(f"random_state must be a whole number or none, not {type(random_state).__name__}")
