import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

import regard
from failing_command import run_failing_command
from regard.cli.main import main
from regard.metrics.translation import moses_tokenizer

SMALL = [
    f"--set={setting}"
    for setting in (
        "model.d_model=16",
        "model.heads=2",
        "model.d_ff=16",
        "model.encoder_layers=1",
        "model.decoder_layers=1",
        "model.vocab_size=300",
        "data.batch_tokens=200",
        "data.bleu_pairs=2",
        "train.steps=3",
    )
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a test set and two systems' translations of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "regard.inference.engine.EXTRA_LENGTH", 3
    )  # an untrained model does not know when to stop
    (tmp_path / "en").write_text("".join(f"the cat {i} sleeps\n" for i in range(30)))
    (tmp_path / "test.fr").write_text("".join(f"Le chat {i} dort bien.\n" for i in range(30)))
    (tmp_path / "mine").write_text("".join(f"le chat {i} dort bien .\n" for i in range(30)))
    return tmp_path


@pytest.fixture
def model(folder):
    main(["train", "--source", "en", "--target", "test.fr", "--out", "run", *SMALL])
    return folder / "run"


def score(*arguments):
    main(["score", *map(str, arguments)])


def failure(*arguments) -> str:
    return run_failing_command("score", *arguments)


@pytest.mark.usefixtures("folder")
def test_a_file_of_translations_is_scored_with_signatures(capsys):
    score("--hypotheses", "mine", "--reference", "test.fr")
    first, _, *rows = capsys.readouterr().out.splitlines()
    assert first == "mine against test.fr: 30 sentences"
    found = {row[:26].strip(): row[26:].split() for row in rows}
    assert set(found) >= {"BLEU", "BLEU, lower-case", "chrF", "chrF, lower-case", "TER, lower is better"}
    assert found["TER, lower is better"][0] == "40.00"  # `bien .` for `bien.`: 2 edits of 5 words
    assert found["BLEU, lower-case"][:4] == ["100.00", "1.000", "180", "180"]
    assert float(found["BLEU"][0]) < 100
    assert all("version:" in row[-1] for row in found.values())


@pytest.mark.usefixtures("folder")
def test_score_json_is_the_only_output(capsys):
    score("--hypotheses", "mine", "--reference", "test.fr", "--baseline", "test.fr", "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["hypotheses"], found["sentences"]) == ("mine", 30)
    assert found["scores"]["bleu_lower"]["score"] == pytest.approx(100)
    assert found["scores"]["bleu_lower"]["reference_length"] == 180
    assert found["against_baseline"]["bleu"]["baseline"] == pytest.approx(100)
    assert found["against_baseline"]["bleu"]["p_value"] < 0.05


def test_a_model_is_scored_on_compressed_files_and_saves_translations(model, capsys):
    folder = model.parent
    for name in ("en", "test.fr"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    capsys.readouterr()
    score("run", "--source", "en.gz", "--reference", "test.fr.gz", "--beam", 3, "--json", "--output", "out")
    found = json.loads(capsys.readouterr().out)
    lines = (folder / "en").read_text().splitlines()
    expected = regard.Translator.load(model, precision="fp32").translate(lines, beam=3)
    assert (folder / "out").read_text().splitlines() == expected
    assert (found["model"], found["beam"], found["alpha"], found["sentences"]) == ("run", 3, 0.6, 30)
    assert {"engine": found["engine"], "precision": found["precision"]} == (
        regard.Translator.load(model, precision="fp32").engine_info._asdict()
    )
    assert found["precision"] == "fp32"
    score("run", "--source", "en", "--reference", "test.fr", "--precision", "auto", "--json")
    assert json.loads(capsys.readouterr().out)["precision"] == (
        regard.Translator.load(model).engine_info.precision
    )
    score("run", "--source", "en", "--reference", "test.fr", "--engine", "torch", "--device", "cpu")
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "run against test.fr: 30 sentences, beam 4, alpha 0.6, torch fp32"
    score("--hypotheses", "out", "--reference", "test.fr.gz", "--json")
    assert json.loads(capsys.readouterr().out)["scores"] == found["scores"]


@pytest.mark.usefixtures("folder")
def test_the_reference_suffix_sets_the_language_by_default(capsys):
    pytest.importorskip("sacremoses")
    score("--hypotheses", "mine", "--reference", "test.fr")
    assert "moses:fr" in capsys.readouterr().out
    score("--hypotheses", "mine", "--reference", "test.fr", "--target-language", "de")
    assert "moses:de" in capsys.readouterr().out
    score("--hypotheses", "test.fr", "--reference", "mine")
    output = capsys.readouterr()
    assert "moses" not in output.out
    assert output.err == "tokenised BLEU is omitted; it needs --target-language\n"
    assert "no rules for the language 'xx'" in failure(
        "--hypotheses", "mine", "--reference", "test.fr", "--target-language", "xx"
    )


@pytest.mark.usefixtures("folder")
def test_without_sacremoses_tokenised_bleu_is_omitted(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    score("--hypotheses", "mine", "--reference", "test.fr")
    output = capsys.readouterr()
    assert "chrF" in output.out
    assert output.err == 'tokenised BLEU needs sacremoses: pip install "regard[moses]"\n'
    assert 'pip install "regard[moses]"' in failure(
        "--hypotheses", "mine", "--reference", "test.fr", "--target-language", "de"
    )


@pytest.mark.usefixtures("model")
def test_several_systems_are_compared_with_the_first_in_one_table(capsys):
    capsys.readouterr()
    files = ["--hypotheses", "test.fr", "--hypotheses", "mine", "--reference", "test.fr"]
    score("run", "--source", "en", *files, "--beam", 1)
    first, head, *rows = capsys.readouterr().out.splitlines()
    engine = " ".join(regard.Translator.load("run", precision="fp32").engine_info)
    assert first == f"30 sentences of test.fr, beam 1, alpha 0.6, {engine}"
    assert head.split()[:2] == ["system", "BLEU"]
    found = {row.split()[0]: row.split()[1:] for row in rows[:3]}
    assert list(found) == ["run", "test.fr", "mine"]
    assert found["test.fr"][0] == "100.00"
    assert head.split()[-6:] == ["p", "BLEU", "p", "chrF", "p", "TER"]
    assert all(float(p) < 0.05 for p in found["test.fr"][-3:])  # against the untrained model
    score(*files, "--json")
    systems = json.loads(capsys.readouterr().out)["systems"]
    assert [system["hypotheses"] for system in systems] == ["test.fr", "mine"]
    expected = PairedTest(
        [(name, Path(name).read_text().splitlines()) for name in ("test.fr", "mine")],
        {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()},
        [Path("test.fr").read_text().splitlines()],
        test_type="bs",
    )()[1]
    for name in ("BLEU", "TER"):
        assert systems[1]["against_first"][name.lower()]["p_value"] == expected[name][1].p_value
    assert "against_first" not in systems[0]


@pytest.mark.usefixtures("folder")
def test_metrics_selects_what_is_computed(capsys):
    files = ("--hypotheses", "mine", "--reference", "test.fr")
    score(*files, "--metrics", "ter,chrf", "--baseline", "test.fr", "--json")
    output = capsys.readouterr()
    found = json.loads(output.out)
    assert list(found["scores"]) == ["chrf", "chrf_lower", "ter"]
    assert list(found["against_baseline"]) == ["chrf", "ter"]
    assert found["scores"]["ter"]["edits"] == 60
    assert output.err == ""  # nothing about tokenised BLEU
    score(*files, "--metrics", "ter", "--baseline", "test.fr")
    assert "\nTER +40.00 over test.fr, which has 0.00: significant" in capsys.readouterr().out
    score(*files, "--hypotheses", "test.fr", "--metrics", "ter")
    assert "\nTER: lower is better\n" in capsys.readouterr().out
    for names in ("ter,ter", "meteor", ""):
        with pytest.raises(SystemExit) as stopped:
            score(*files, "--metrics", names)
        assert stopped.value.code == 2
        assert "must be some of bleu,chrf,ter" in capsys.readouterr().err


def test_invalid_score_arguments_are_one_error_line(folder):
    (folder / "short").write_text("un\n")
    reference = ("--reference", "test.fr")
    for arguments, message in (
        (("--hypotheses", "short"), "short has 1 lines and test.fr 30; they must match line by line"),
        (("--hypotheses", "mine", "--baseline", "short"), "short has 1 lines and test.fr 30"),
        (("nowhere", "--source", "short"), "short has 1 lines and test.fr 30"),
        (("nowhere", "--source", "en"), "nowhere does not exist"),
        (("nowhere", "--source", "en", "--beam", "0"), "beam = 0 cannot work; it must be at least 1"),
        (("nowhere", "--source", "en", "--alpha", "-1"), "alpha = -1.0 cannot work"),
        (("nowhere", "--source", "en", "--threads", "0"), "--threads = 0 cannot work; it must be at least 1"),
        (("nowhere", "--source", "en", "--threads", "-2"), "--threads = -2 cannot work"),
        (("--hypotheses", "mine", "--threads", "1"), "--threads is for translating; --hypotheses are"),
        (("--hypotheses", "mine", "--beam", "4"), "--beam is for translating"),
        (("--hypotheses", "mine", "--engine", "auto"), "--engine is for translating"),
        (("--hypotheses", "none"), "none does not exist"),
        ((), "give either a MODEL to translate with, or --hypotheses FILE"),
        (("nowhere", "--hypotheses", "mine"), "MODEL and --source FILE belong together"),
        (("nowhere", "run", "--labelled", "en"), "--labelled is for a single MODEL"),
        (("--hypotheses", "mine", "--hypotheses", "short"), "short has 1 lines and test.fr 30"),
        (("nowhere",), "MODEL and --source FILE belong together"),
        (("--hypotheses", "mine", "--output", "out"), "--out is for the translations of a MODEL"),
        (("nowhere", "--source", "en", "--output", "no/where"), "no/where cannot be written"),
        (
            ("--hypotheses", "mine", "--metrics", "ter", "--target-language", "fr"),
            "--target-language is for BLEU",
        ),
    ):
        assert message in failure(*arguments, *reference)


def test_an_unfinished_run_uses_its_last_checkpoint(model, capsys):
    pytest.importorskip("sacremoses")
    shutil.rmtree(model / "model")
    capsys.readouterr()
    score("run", "--source", "en", "--reference", "test.fr", "--target-language", "fr", "--beam", 1)
    output = capsys.readouterr()
    assert output.err == "run is not finished; using its last checkpoint, step-000003\n"
    assert output.out.startswith("run against test.fr: 30 sentences, beam 1")
    main(["translate", "run", "--input", "en", "--output", "out"])
    assert "using its last checkpoint, step-000003" in capsys.readouterr().err
    main(["translate", "run/step-000003", "--input", "en", "--output", "out"])
    assert capsys.readouterr().err == ""


def test_scoring_a_file_needs_no_torch(folder):
    code = (
        "import sys; from regard.cli.main import main\n"
        "main(['score', '--hypotheses', 'mine', '--reference', 'test.fr']); print('torch' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=folder
    )
    assert answer.stdout.endswith("False\n")


@pytest.fixture
def second_reference(folder):
    """References of another translator, which the file `mine` is nearer to."""
    path = folder / "second.fr"
    path.write_text("".join(f"le chat {i} dort bien .\n" if i % 2 else f"Il dort {i}.\n" for i in range(30)))
    return path


@pytest.mark.usefixtures("second_reference")
def test_several_references_are_scored_as_sacrebleu_does(folder, capsys):
    pytest.importorskip("sacremoses")
    files = ["test.fr", "second.fr"]
    flags = [flag for name in files for flag in ("--reference", name)]
    score("--hypotheses", "mine", *flags, "--baseline", "second.fr", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["references"] == files
    hypotheses, *references = [(folder / name).read_text().splitlines() for name in ("mine", *files)]
    baseline = references[1]
    for key, metric in (("bleu", BLEU()), ("chrf_lower", CHRF(lowercase=True)), ("ter", TER())):
        assert found["scores"][key]["score"] == pytest.approx(
            metric.corpus_score(hypotheses, references).score
        )
        assert "nrefs:2" in found["scores"][key]["signature"]
    systems = [("baseline", baseline), ("hypotheses", hypotheses)]
    _, expected = PairedTest(systems, {"BLEU": BLEU()}, references, test_type="bs")()
    assert found["against_baseline"]["bleu"]["p_value"] == pytest.approx(expected["BLEU"][1].p_value)
    tokenize = moses_tokenizer("fr")
    moses = BLEU(lowercase=True, tokenize="none", smooth_method="none", force=True).corpus_score(
        list(map(tokenize, hypotheses)), [list(map(tokenize, each)) for each in references]
    )
    assert found["scores"]["bleu_tokenised_lower"]["score"] == pytest.approx(moses.score)
    score("--hypotheses", "mine", *flags)
    assert capsys.readouterr().out.startswith("mine against test.fr and second.fr: 30 sentences\n")


def test_references_of_another_length_are_one_error_line(folder):
    (folder / "short").write_text("un\n")
    two = ("--reference", "test.fr", "--reference", "short")
    expected = "short has 1 lines and test.fr 30; they must match line by line"
    assert expected in failure("--hypotheses", "mine", *two)
    assert "--score-references scores one file of references; give --reference once" in failure(
        "run", "--score-references", "--source", "en", *two
    )
