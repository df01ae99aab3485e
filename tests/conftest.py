"""What several tests need."""

import shutil
import signal

import jaxtyping
import pytest
import torch
from hypothesis import settings

from regard.model.config import ModelConfig
from regard.model.transformer import Transformer
from tiny_models import train_user_models, write_user_files

settings.register_profile("same", derandomize=True, deadline=None)  # the same examples, however busy
settings.load_profile("same")
# A shell starts `make test &` with SIGINT ignored, nohup a command with SIGHUP; children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
torch.set_num_threads(1)  # what tests compute is too small to share

MICRO = ModelConfig(
    vocab_size=23,
    d_model=16,
    heads=4,
    d_ff=32,
    encoder_layers=2,
    decoder_layers=2,
    dropout=0.0,
    max_length=40,
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """What a test prepares is not found by the next."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def no_shape_check():
    """The check of types and shapes is off: the test passes values of wrong types, as users do."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(scope="session")
def trained_models(tmp_path_factory):
    """The files of a user, and a tiny model of each task: en-fr, reviews and sales. Not to be changed."""
    folder = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("user-cache")))
        write_user_files(folder)
        train_user_models(folder)
    return folder


@pytest.fixture
def user_folder(trained_models, tmp_path, monkeypatch):
    """A copy of them as the working folder; an untrained model does not end its sentences."""
    folder = tmp_path / "work"
    shutil.copytree(trained_models, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("regard.inference.engine.EXTRA_LENGTH", 3)
    return folder


@pytest.fixture
def diverging(monkeypatch) -> None:
    """A learning rate so high that the first steps end in a loss that is not finite."""
    monkeypatch.setattr("regard.training.setup.learning_rate", lambda *_: 1e30)


@pytest.fixture
def micro() -> ModelConfig:
    """A config small enough for exhaustive checks."""
    return MICRO


@pytest.fixture
def micro_model() -> Transformer:
    """A random model of that config, ready to be asked."""
    torch.manual_seed(0)
    return Transformer(MICRO).eval()


def pytest_collection_modifyitems(items):
    """Tests that need a GPU are left out where there is none."""
    for item in items:
        if item.get_closest_marker("cuda") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="no GPU here"))
