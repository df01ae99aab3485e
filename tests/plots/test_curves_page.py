import json
import math
import re
import time
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from regard.errors import DataError
from regard.plots.curves import TrainingCurves
from regard.plots.curves_page import render_curves_html, render_curves_svg, render_model_card_svg
from regard.plots.history import read_histories

SVG = "{http://www.w3.org/2000/svg}"
PLAN = {
    "kind": "run",
    "warmup": 40,
    "planned": [[1, 1e-5], [40, 4e-4], [200, 2e-4]],
    "clip": 1.0,
    "label_smoothing": 0.1,
    "loss_floor": 1.25,
}
DATA = {
    "lengths": {"source": {"bins": [0, 5, 10], "counts": [3, 9]}},
    "train": {"pairs": 1234, "left_out": {"copy": 5, "blank": 1}},
    "ratio": 1.25,
    "vocabulary": {"size": 741, "used": 700, "byte_share": 0.001},
}
HOSTILE = '</svg><script>alert(1)</script>"&{{7*7}}\x00\x1b\u202e]]>'


def train(step, loss=2.0, **facts):
    usual = {"lr": 1e-4, "grad_norm": 0.5, "target_tokens": 1000, "tokens_per_s": 5e4, "pad_fraction": 0.1}
    event = {"kind": "train", "step": step, "time_s": step * 36.0, "loss": loss, "memory_mb": 2048}
    return {**event, **usual, **facts}


def valid(step, loss=1.5, hypothesis="le chat", **facts):
    sample = {"source": "the cat", "reference": "le chat", "hypothesis": hypothesis}
    event = {"kind": "valid", "step": step, "time_s": step * 36.0 + 9, "loss": loss, "samples": [sample]}
    return {**event, "bleu": 30.0, "chrf": 50.0, "signature": "tok:13a", **facts}


@pytest.fixture
def run(tmp_path):
    def write(*events, name="run", tail=""):
        (tmp_path / name).mkdir(exist_ok=True)
        text = "".join(json.dumps(event) + "\n" for event in events)
        (tmp_path / name / "metrics.jsonl").write_text(text + tail, "utf-8")
        return tmp_path / name

    return write


def draw_svg(*folders, axis="step"):
    return ElementTree.fromstring(render_curves_svg(TrainingCurves(read_histories(list(folders)), axis)))


def chart(picture, name):
    (matching,) = [
        part for part in picture.iter(f"{SVG}svg") if f"rg-{name}-title" in part.get("aria-labelledby", "")
    ]
    return matching


def names(picture):
    labels = [part.get("aria-labelledby") for part in picture.iter(f"{SVG}svg")]
    return [label.split()[0].removeprefix("rg-").removesuffix("-title") for label in labels if label]


def points(part, kind):
    """The coordinates of a line, subpath by subpath."""
    (path,) = [path for path in part.iter(f"{SVG}path") if path.get("class") == kind]
    return [
        [tuple(map(float, place.split())) for place in re.split("[ML]|h0", piece) if place]
        for piece in re.findall(r"M[^M]*", path.get("d"))
    ]


def texts(part):
    return ["".join(text.itertext()) for text in part.iter(f"{SVG}text")]


def test_markers_are_at_the_data_points(run):
    folder = run(
        PLAN, *(train(step, loss=3 - step / 100) for step in range(10, 201, 10)), valid(100), valid(200, 1.4)
    )
    loss = chart(draw_svg(folder), "loss")
    (line,) = points(loss, "thick s0")
    left, right = 58, 972 - 18
    assert [x for x, _ in line] == pytest.approx(
        [left + (right - left) * step / 200 for step in range(10, 201, 10)], abs=0.1
    )
    heights = [y for _, y in line]
    assert heights == sorted(heights)  # a falling loss goes down the page
    ((x1, y1), (x2, y2)) = points(loss, "thick s1")[0]
    assert (x1, x2) == pytest.approx(((left + right) / 2, right), abs=0.1)
    floor = next(part for part in loss.iter(f"{SVG}line") if part.get("class") == "level s0")
    per_nat = (heights[-1] - heights[0]) / 1.9
    assert y2 - y1 == pytest.approx(per_nat * 0.1, abs=0.2)
    assert float(floor.get("y1")) - y2 == pytest.approx(per_nat * 0.15, abs=0.2)
    (ring,) = loss.iter(f"{SVG}circle")
    assert (float(ring.get("cx")), float(ring.get("cy"))) == pytest.approx((x2, y2), abs=0.1)
    assert "training cannot go below 1.25" in texts(loss)


def test_every_chart_is_drawn_with_its_reference_lines(run):
    groups = {"bins": [2, 9, 31], "bleu": [40.0, 20.0], "pairs": [10, 12]}
    folder = run(PLAN, train(10), train(200), valid(200, bleu_by_length=groups))
    (folder / "data.json").write_text(json.dumps(DATA))
    picture = draw_svg(folder)
    chart_names = ["loss", "scores", "rate", "speed", "norm", "padding", "memory", "lengths", "by-length"]
    assert names(picture) == chart_names
    assert "warm-up ends" in texts(chart(picture, "rate"))
    assert "clipped at 1" in texts(chart(picture, "norm"))
    assert "tok:13a" in texts(chart(picture, "scores"))
    assert [line.get("class") for line in chart(picture, "speed").iter(f"{SVG}rect")].count("band") == 1
    assert "Validation samples" in texts(picture)


def test_the_length_chart_describes_the_training_data(run):
    folder = run(train(1), train(2))
    (folder / "data.json").write_text(json.dumps(DATA))
    (description,) = [part.text for part in chart(draw_svg(folder), "lengths").iter(f"{SVG}desc")]
    summary = "1,234 pairs; left out: 5 copy, 1 blank; ratio 1.25; 94% of the vocabulary used, 0.10% bytes."
    assert description.startswith(summary)


def test_bleu_by_length_is_of_the_best_validation(run):
    def groups(*scores):
        return {"bins": [2, 9, 31], "bleu": list(scores), "pairs": [10, 12]}

    best, worse = (
        valid(100, 1.0, bleu_by_length=groups(40.0, 20.0)),
        valid(200, 2.0, bleu_by_length=groups(1, 1)),
    )
    part = chart(draw_svg(run(train(1), best, worse)), "by-length")
    up, first, _, second, *_ = points(part, "thick s1")[0]
    bottom = 270 - 40
    assert up[1] == bottom
    assert (bottom - first[1]) / (bottom - second[1]) == pytest.approx(2, abs=0.05)
    assert "validation at step 100" in texts(part)
    assert "by-length" not in names(draw_svg(run(train(1), valid(100), name="other")))


def test_averaged_checkpoints_are_a_separate_marker(run):
    average = {"kind": "mean", "step": 200, "time_s": 7300.0, "loss": 1.2, "bleu": 33.0, "checkpoints": 5}
    folder = run(PLAN, train(10), train(200), valid(100), valid(200), average)
    for name in ("loss", "scores"):
        part = chart(draw_svg(folder), name)
        marker, *_ = [
            path for path in part.iter(f"{SVG}path") if path.get("class") == "mark f3" and len(path)
        ]
        assert (
            float(re.search(r"translate\(([\d.]+)", marker.get("transform"))[1]) > 400
        )  # where the training ended
        assert "average of 5 checkpoints" in texts(part)
    line = points(chart(draw_svg(folder), "scores"), "thick s1")[0]
    assert len(line) == 2  # the average is not a point of the line


def test_without_padding_there_is_no_padding_chart(run):
    assert "padding" not in names(draw_svg(run(train(1, pad_fraction=0.0), train(2, pad_fraction=0.0))))
    assert "padding" in names(draw_svg(run(train(1, pad_fraction=0.0), train(2, pad_fraction=0.1))))


def test_the_best_validation_is_the_marked_one_or_the_lowest_loss(run):
    events = [train(1), valid(1, 1.5), valid(2, 1.2, best=True), valid(3, 1.1, best=False)]
    assert read_histories([run(*events)])[0].best_validation == 1
    assert (
        read_histories([run(train(1), valid(1, 1.5), valid(2, None), valid(3, 1.1))])[0].best_validation == 2
    )
    assert read_histories([run(train(1), valid(1, None))])[0].best_validation is None


def test_a_nan_loss_is_a_gap_and_an_isolated_point_a_dot(run):
    losses = [3.0, 2.9, None, 2.7, None, 2.5, 2.4]
    loss = chart(draw_svg(run(*(train(step, loss) for step, loss in enumerate(losses, start=1)))), "loss")
    assert [len(piece) for piece in points(loss, "thick s0")] == [2, 1, 2]
    assert "h0" in next(path.get("d") for path in loss.iter(f"{SVG}path") if path.get("class") == "thick s0")


@pytest.mark.parametrize(
    "events",
    [
        [train(1)],
        [valid(1)],
        [train(1, None), train(2, None)],
        [train(5, 2.0, lr=0.0, grad_norm=0.0, tokens_per_s=0.0, pad_fraction=0.0)],
        [{"kind": "train", "step": 1}, {"kind": "valid", "step": 1}],
        [{"kind": "run", "planned": "no", "warmup": None}, train(1)],
        [train(0), valid(0)],
    ],
)
@pytest.mark.parametrize("axis", ["step", "tokens", "hours"])
def test_a_run_with_few_events_can_be_drawn(run, events, axis):
    folder = run(*events)
    picture = ElementTree.tostring(draw_svg(folder, axis=axis), "unicode")
    assert "nan" not in picture
    assert "inf" not in picture
    assert render_curves_html(TrainingCurves(read_histories([folder]), axis))


def test_an_incomplete_line_is_ignored(run):
    folder = run(train(1), train(2), tail='{"kind": "train", "step": 3, "lo')
    assert len(read_histories([folder])[0].train) == 2


def test_a_folder_without_metrics_is_an_error(run, tmp_path):
    with pytest.raises(DataError, match="nowhere does not exist; give a folder"):
        read_histories([tmp_path / "nowhere"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty has no metrics.jsonl"):
        read_histories([tmp_path / "empty"])
    with pytest.raises(DataError, match="no step and no validation yet"):
        read_histories([run(PLAN)])


def test_a_run_is_found_from_its_model_and_its_metrics(run):
    folder = run(train(1))
    (folder / "model").mkdir()
    for path in (folder, folder / "model", folder / "metrics.jsonl"):
        assert read_histories([path])[0].name == "run"


def test_runs_with_the_same_name_show_their_paths(run, tmp_path):
    for parent in ("a", "b"):
        (tmp_path / parent).mkdir()
        run(train(1), name=f"{parent}/run")
    assert [history.name for history in read_histories([tmp_path / "a/run", tmp_path / "b/run"])] == [
        str(tmp_path / "a/run"),
        str(tmp_path / "b/run"),
    ]


def test_several_runs_differ_in_colour_and_dash(run):
    folders = [run(PLAN, train(1), train(9, 1.5), valid(9), name=name) for name in "abc"]
    picture = draw_svg(*folders)
    lines = [
        path
        for path in chart(picture, "loss").iter(f"{SVG}path")
        if path.get("class", "").startswith("thick")
    ]
    assert {path.get("class") for path in lines} == {"thick s0", "thick s1", "thick s2"}
    assert len({path.get("stroke-dasharray") for path in lines}) == 3
    assert {"a, best 1.500", "b, best 1.500", "c, best 1.500"} <= set(texts(picture))


def test_more_runs_than_colours_can_be_drawn(run):
    folders = [run(train(1), train(2), name=f"r{number}") for number in range(12)]
    assert len([text for text in texts(draw_svg(*folders)) if re.fullmatch(r"r\d+", text)]) == 12


def test_tokens_and_hours_as_x_axis(run):
    folder = run(train(10), train(20), valid(20), train(30))
    (history,) = read_histories([folder])
    assert history.x_values("tokens", history.train).tolist() == [1000, 2000, 3000]
    assert history.x_values("tokens", history.valid).tolist() == [2000]
    assert history.x_values("hours", history.valid).tolist() == [pytest.approx((20 * 36 + 9) / 3600)]
    assert "minutes" in texts(chart(draw_svg(folder, axis="hours"), "loss"))
    assert "target tokens seen" in texts(chart(draw_svg(folder, axis="tokens"), "loss"))


def test_the_ticks_of_an_axis_do_not_overlap(run):
    picture = draw_svg(run(*(train(step) for step in range(1000, 100_001, 1000)), valid(50_000)))
    for name in names(picture):
        part = chart(picture, name)
        ticks = [t for t in part.iter(f"{SVG}text") if t.get("text-anchor") == "middle"]
        assert len(ticks) >= 3
        ends = [(float(t.get("x")) - 3.2 * len(t.text), float(t.get("x")) + 3.2 * len(t.text)) for t in ticks]
        assert all(left[1] < right[0] for left, right in pairwise(ends))


def test_markup_in_names_and_translations_is_escaped(run):
    """An SVG of a run with markup in its names has the same elements as one without."""
    harmless = run(
        PLAN, train(1), valid(1, hypothesis="one and so"), valid(2, hypothesis="two and so"), name="a"
    )
    run_with_markup = run(
        PLAN,
        train(1),
        *(valid(step, hypothesis=f"{step} {HOSTILE}", signature=HOSTILE) for step in (1, 2)),
        name='<b onload="x">&',
    )

    def elements(tree):
        return [(part.tag, sorted(part.keys())) for part in tree.iter()]

    assert elements(draw_svg(run_with_markup)) == elements(draw_svg(harmless))
    document = render_curves_html(TrainingCurves(read_histories([run_with_markup]), "step"))
    assert "<script" not in document
    assert "\x00" not in document
    assert document.count("<b ") == 0


def test_a_page_loads_no_external_resource(run):
    document = render_curves_html(
        TrainingCurves(
            read_histories([run(PLAN, train(1), valid(1), valid(2, hypothesis="le chien"))]), "step"
        )
    )
    assert not re.search(
        r"(?:src|href)=|url\((?!#)|@import|<script|https?://(?!www\.w3\.org/2000/svg)", document
    )
    assert "default-src 'none'" in document
    assert '<td dir="auto">le <ins>chien</ins></td>' in document
    body = document[document.index("<body>") : document.index("</html>")]
    tree = ElementTree.fromstring(body)  # every tag is closed
    pictures = [part for part in tree.iter("svg") if part.get("role") == "img"]
    ids = {part.get("id") for part in tree.iter() if part.get("id")}
    assert len(pictures) >= 7
    assert all(set(part.get("aria-labelledby").split()) <= ids for part in pictures)


def test_light_and_dark_mode_are_both_defined(run):
    document = render_curves_svg(TrainingCurves(read_histories([run(train(1))]), "step"))
    assert "prefers-color-scheme: dark" in document
    assert 'role="img"' in document


def test_the_model_card_svg_is_small_and_parses(run):
    folder = run(PLAN, *(train(step, 2 + 1 / step) for step in range(1, 2000)), valid(1000))
    picture = render_model_card_svg(folder)
    assert names(ElementTree.fromstring(picture)) == ["loss", "scores"]
    assert len(picture) < 40_000


def test_100_000_rows_are_drawn_small_in_linear_time(run):
    def draw(rows):
        folder = run(
            PLAN, *(train(step, 2 + math.sin(step)) for step in range(1, rows + 1)), valid(rows // 2)
        )
        seconds = []
        for _ in range(2):
            since = time.process_time()
            drawing = render_curves_svg(TrainingCurves(read_histories([folder]), "step"))
            seconds.append(time.process_time() - since)
        return drawing, min(seconds)

    _, short = draw(25_000)
    picture, long = draw(100_000)
    assert long < 12 * short
    assert len(picture) < 100_000
    longest = max(len(re.findall("[ML]", path)) for path in re.findall(r' d="([^"]*)"', picture))
    assert 300 < longest <= 600


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        '{"lengths": 3}',
        '{"lengths": {"source": {"bins": [1, 2], "counts": "x"}}}',
        '{"lengths": {"source": []}}',
    ],
)
def test_malformed_length_histograms_are_ignored(run, content):
    folder = run(train(1))
    (folder / "data.json").write_text(content)
    assert "lengths" not in names(draw_svg(folder))
