import gzip
import json
import subprocess
import sys

import pytest

from failing_command import run_failing_command
from regard.cli.main import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with two files that match."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "en").write_text("".join(f"the cat {i} sleeps\n" for i in range(300)))
    (tmp_path / "fr").write_text("".join(f"le chat {i} dort\n" for i in range(300)))
    return tmp_path


def arguments_of(given):
    """Return the arguments, with the corpus `en` and `fr` unless they name another source or target."""
    corpus = [("--source", "en"), ("--target", "fr")]
    defaults = [part for flag, name in corpus if flag not in given for part in (flag, name)]
    return ["check", *defaults, *map(str, given)]


def check(*arguments):
    main(arguments_of(arguments))


def failure(*arguments) -> str:
    return run_failing_command(*arguments_of(arguments))


def spoil(path, line, text):
    lines = path.read_text().split("\n")
    lines[line - 1] = text
    path.write_text("\n".join(lines))


@pytest.mark.usefixtures("folder")
def test_a_clean_corpus_has_no_defects(capsys):
    check("--strict")
    assert capsys.readouterr().out == "en and fr: 300 pairs\n  no defects found\n"


def test_bad_pairs_are_listed_and_are_not_an_error(folder, capsys):
    for line in (3, 14, 15, 92, 65, 35, 89, 79):
        spoil(folder / "fr", line, "")
    spoil(folder / "en", 200, "the [bold]cat[/bold] \x1b[31m sleeps")
    check()
    output = capsys.readouterr().out
    row = next(line for line in output.splitlines() if line.startswith("blank side"))
    assert row.split()[2:9] == ["8", "3,", "14,", "15,", "35,", "65,", "79,"]
    assert "..." in row
    assert "control characters" in output
    assert "9 of 300 pairs (3 %) are unusable for training" in output
    assert "\x1b" not in output


def test_strict_rejects_bad_lines_but_not_notes(folder, capsys):
    spoil(folder / "en", 9, "the cat 9 sleeps")
    spoil(folder / "fr", 9, "le chat 9 dort")
    check("--strict")
    assert "duplicate" in capsys.readouterr().out
    spoil(folder / "fr", 17, "")
    assert "en and fr has bad lines: blank side (1); --strict rejects them" in failure("--strict")


def test_a_fatal_finding_is_an_error_after_the_report(folder, capsys):
    (folder / "fr").write_text("".join(f"le chat {i} dort\n" for i in range(299)))
    assert failure("-o", "out.json") == (
        "regard: en has 300 lines and fr 299; the two sides must pair line by line"
    )
    assert "line counts differ" in capsys.readouterr().out
    assert json.loads((folder / "out.json").read_text())["fatal"] is True


def test_json_report_has_the_line_numbers(folder):
    spoil(folder / "fr", 17, "")
    check("-o", "out.json")
    document = json.loads((folder / "out.json").read_text())
    assert (document["pairs"], document["bad"]) == (300, 1)
    assert [(f["kind"], f["lines"]) for f in document["findings"]] == [("blank side", [17])]


def test_compressed_files_and_a_test_set_are_checked(folder, capsys):
    for name in ("en", "fr"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    (folder / "test.en").write_text("the cat 41 sleeps\n")
    (folder / "test.fr").write_text("rien\n")
    against = ["--against-source", "test.en", "--against-target", "test.fr"]
    check("--source", "en.gz", "--target", "fr.gz", *against)
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("shared"))
    assert row.split()[1:3] == ["1", "42"]


def test_pairs_in_one_file_are_checked(folder, capsys):
    (folder / "a.tsv").write_text("one\tun\nno tab\ntwo\tdeux\n")
    (folder / "test.jsonl").write_text('{"source": "two", "target": "rien"}\n')
    main(["check", "--pairs", "a.tsv", "--against-pairs", "test.jsonl"])
    output = capsys.readouterr().out
    assert "a.tsv: 3 pairs" in output
    rows = {line.split("  ")[0]: line.split() for line in output.splitlines()}
    assert rows["no pair"][2:4] == ["1", "2"]
    assert rows["shared"][1:3] == ["1", "3"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to check; give --source FILE and --target FILE, or --pairs FILE"),
        (["--source", "en"], "--source and --target belong together"),
        (["--source", "en", "--target", "fr", "--pairs", "a.tsv"], "--pairs replaces --source and --target"),
        (["--pairs", "en"], "its name must end in .tsv, .csv, .jsonl"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_check_needs_exactly_one_corpus(arguments, message):
    assert message in run_failing_command("check", *arguments)


def test_invalid_check_arguments_are_one_error_line(folder):
    assert "none does not exist" in failure("--source", "none")
    assert "belong together" in failure("--against-source", "en")
    (folder / "folder").mkdir()
    for output in ("folder", "no/where"):
        assert f"{output} cannot be written" in failure("-o", output)
    (folder / "bad.gz").write_bytes(gzip.compress(b"text")[:-3])
    assert "bad.gz ends too early" in failure("--source", "bad.gz")


def test_check_help_lists_the_findings(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["check", "--help"])
    assert stop.value.code == 0
    output = capsys.readouterr().out
    assert "findings\n  fatal" in output
    assert "regard check --source train.en --target train.fr" in output


def test_checking_needs_no_torch(folder):
    code = (
        "import sys; from regard.cli.main import main\n"
        "main(['check', '--source', 'en', '--target', 'fr']); print('torch' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=folder
    )
    assert answer.stdout.endswith("False\n")
    assert answer.stderr == ""


MEMORY = """\
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>The cat sleeps.</seg></tuv><tuv xml:lang="fr"><seg>Le chat dort.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>The dog sleeps.</seg></tuv></tu>
<tu>
  <tuv xml:lang="en"><seg>The mouse sleeps.</seg></tuv>
  <tuv xml:lang="fr"><seg>The mouse sleeps.</seg></tuv>
</tu>
</body></tmx>
"""
MESSAGES = """\
msgid ""
msgstr "Language: fr\\n"

msgid "Open"
msgstr "Ouvrir"

#, fuzzy
msgid "Close"
msgstr "Clore"
"""


def test_files_of_several_kinds_are_reported_one_by_one(folder, capsys):
    (folder / "a.tmx").write_text(MEMORY)
    (folder / "b.po").write_text(MESSAGES)
    (folder / "c.csv").write_text("source,target\nThe cat,Le chat\nThe dog\n")
    languages = ["--source-language", "en", "--target-language", "fr"]
    main(["check", "--pairs", "a.tmx", "b.po", "c.csv", *languages, "-o", "report.json"])
    output = capsys.readouterr().out
    lines = output.splitlines()
    assert [line for line in lines if line.endswith("pairs")] == [
        "a.tmx: 2 pairs",
        "b.po: 1 pairs",
        "c.csv: 2 pairs",
    ]
    assert next(line for line in lines if line.startswith("copy")).split()[1:4] == ["1", "3", "(line"]
    assert next(line for line in lines if line.startswith("untranslated")).split()[1:4] == ["1", "2", "(line"]
    assert next(line for line in lines if line.startswith("fuzzy")).split()[1:3] == ["1", "9"]
    assert next(line for line in lines if line.startswith("no pair")).split()[2:4] == ["1", "3"]
    reports = json.loads((folder / "report.json").read_text())["corpora"]
    assert [(report["unit"], report["files"]) for report in reports] == [
        ("unit", ["a.tmx"]),
        ("line", ["b.po"]),
        ("row", ["c.csv"]),
    ]
    copy = next(finding for finding in reports[0]["findings"] if finding["kind"] == "copy")
    assert (copy["lines"], copy["file_lines"]) == ([3], [4])


def test_an_untranslated_unit_is_no_bad_line(folder, capsys):
    (folder / "a.tmx").write_text(
        MEMORY.replace(">The mouse sleeps.</seg></tuv>\n</tu>", ">x</seg></tuv>\n</tu>")
    )
    main(["check", "--pairs", "a.tmx", "--source-language", "en", "--strict"])
    assert "untranslated" in capsys.readouterr().out


def test_a_file_without_a_translation_is_an_error(folder):
    (folder / "b.po").write_text(MESSAGES.replace('"Ouvrir"', '""'))
    message = "b.po has no pair with both sides: untranslated (1), fuzzy (1)"
    assert message in run_failing_command("check", "--pairs", "b.po")


def test_the_direction_of_a_memory_is_asked_for(folder):
    (folder / "a.tmx").write_text(MEMORY)
    assert run_failing_command("check", "--pairs", "a.tmx") == (
        "regard: a.tmx has texts in en and fr; say which are translated into which, as in --source-language "
        "en --target-language fr, or the reverse"
    )


def test_flags_of_pairs_are_not_for_labelled_texts(folder):
    (folder / "a.tsv").write_text("x\ty\n")
    message = "--labelled is for labelled texts, --source-language for a parallel corpus; give one"
    assert message in run_failing_command("check", "--labelled", "a.tsv", "--source-language", "en")
