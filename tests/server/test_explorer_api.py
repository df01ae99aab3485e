import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import regard
from regard.search.config import SearchConfig
from regard.server.explorer_api import explorer_routes
from regard.server.http_messages import ApiRequest
from regard.server.training_runs import find_example_text, find_training_run
from regard.trace.interventions import DisableHead
from regard.trace.packing import unpack_array
from regard.trace.trace import Trace
from regard.translation.translator import Translator
from server.conftest import LIMIT, TEXTS, desk_of, save_random, write_metrics
from server.http_client import serving

TEXT = "the cat sees"
REQUEST = {"text": TEXT}


def test_info_says_what_there_is_to_look_into(served, translator):
    info = served("/api/info").json
    facts = translator.tracer.model_facts()
    assert info["regard"] == regard.__version__
    assert (
        info["model"]["parameters"] == facts.parameters == sum(each["parameters"] for each in info["blocks"])
    )
    assert info["model"]["name"] == info["run"]["name"] == "mine"
    assert info["limits"] == {"max_trace_tokens": LIMIT}
    assert info["search"] == {"beam": 4, "alpha": 0.6}
    assert info["run"]["checkpoints"] == [
        {"step": 100, "best": False, "model": False},
        {"step": 200, "best": True, "model": True},
        {"step": 300, "best": False, "model": False},
    ]
    assert not info["run"]["mean"]


def test_a_model_that_is_the_mean_of_checkpoints_is_none_of_them(run_folder, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(run_folder, run)
    for name in ("mean", "model"):
        shutil.rmtree(run / name, ignore_errors=True)
        save_random(run / name, 7)
    with serving(explorer_routes(desk_of(run))) as ask:
        assert ask("/api/info").json["run"]["mean"]
        assert not any(each["model"] for each in ask("/api/info").json["run"]["checkpoints"])
        (run / "mean" / "manifest.json").write_text("{")
        assert not ask("/api/info").json["run"]["mean"]


def test_blocks_are_in_the_order_of_figure_1(served):
    info = served("/api/info").json
    assert [block["id"] for block in info["blocks"]] == [
        "embedding.source",
        *("encoder.1.self", "encoder.1.ffn", "encoder.2.self", "encoder.2.ffn"),
        "embedding.target",
        *("decoder.1.self", "decoder.1.cross", "decoder.1.ffn"),
        *("decoder.2.self", "decoder.2.cross", "decoder.2.ffn"),
        "output",
    ]
    cross = next(block for block in info["blocks"] if block["id"] == "decoder.2.cross")
    assert (cross["stack"], cross["layer"], cross["which"]) == ("decoder", 2, "cross")
    assert ["query.weight", [16, 16]] in cross["shapes"]


@pytest.mark.parametrize("config", [{"norm": "pre"}, {"position": "learned"}, {"tied": "none"}])
def test_every_parameter_of_every_kind_of_model_is_in_a_block(tmp_path, config):
    desk = desk_of(save_random(tmp_path / "model", 0, **config))

    with serving(explorer_routes(desk)) as ask:
        info = ask("/api/info").json
    assert info["model"]["parameters"] == sum(block["parameters"] for block in info["blocks"])
    assert info["run"] is None


def test_a_trace_is_the_one_that_python_makes(served, translator):
    said = served("/api/trace", REQUEST, Accept_Encoding="gzip").json
    trace, mine = Trace.from_json(said), translator.trace(TEXT)
    assert trace.id == mine.id
    assert trace.target == mine.target
    for kind in ("encoder", "decoder", "cross"):
        assert trace.attention[kind] == pytest.approx(mine.attention[kind], abs=1e-5)


def test_a_request_comes_back_as_it_may_be_asked_again(served):
    """Beginnings and whole translations as text, as a person types them; then as the trace has them."""
    head = {"type": "head", "kind": "cross", "layer": 2, "head": 3, "mode": "zero"}
    first = served("/api/trace", {**REQUEST, "beam": 2, "prefix": "a bird", "interventions": [head]}).json
    assert first["target"]["text"].startswith("a bird")
    again = served("/api/trace", {**first["request"], "step": None}).json
    assert again["id"] == first["id"]
    forced = served("/api/trace", {**REQUEST, "target": "a dog", "prefix": []}).json
    assert (forced["target"]["text"], forced["target"]["forced"]) == ("a dog", True)


def test_a_head_that_is_removed_changes_what_python_says_it_changes(served, translator):
    head = {"type": "head", "kind": "cross", "layer": 2, "head": 3, "mode": "zero"}
    said = served("/api/trace", {**REQUEST, "interventions": [head]}).json
    mine = translator.trace(TEXT, interventions=[DisableHead("cross", 2, 3)])
    assert said["target"]["logprob"] == pytest.approx(mine.target.logprob, abs=1e-5)
    assert said["target"]["logprob"] != pytest.approx(translator.trace(TEXT).target.logprob, abs=1e-5)


def test_lines_are_translated_one_by_one(served, translator):
    answer = served("/api/translate", {"text": f"{TEXT}\n\n  \na dog", "beam": 3, "n_best": 2}).json
    first, empty, spaces, last = answer["lines"]
    assert answer["ms"] > 0
    found = translator.detailed([TEXT, "a dog"], SearchConfig(3, n_best=2))
    for line, expected in zip((first, last), found, strict=True):
        assert line["target"]["text"] == expected.text
        assert [each["text"] for each in line["n_best"]] == [
            expected.text,
            *(other.text for other in expected.alternatives),
        ]
        assert line["n_best"][0]["score"] == pytest.approx(expected.score, abs=1e-4)
        assert line["omitted"] is None
    for blank in (empty, spaces):
        assert blank["source"]["tokens"] == blank["target"]["tokens"] == blank["n_best"] == []


def test_the_alignment_is_of_words_alone_and_each_row_is_whole(served):
    (line,) = served("/api/translate", REQUEST).json["lines"]
    rows = np.array(line["alignment"])
    assert rows.shape == (len(line["target"]["tokens"]), len(line["source"]["tokens"]))
    assert rows.sum(axis=1) == pytest.approx(1, abs=1e-3)
    special = [token.get("special") is not None for token in line["source"]["tokens"]]
    assert special[-1]
    assert (rows[:, special] == 0).all()


def test_what_is_too_long_to_trace_is_translated_all_the_same(served, translator):
    long = " ".join(["the cat sees a dog."] * 8)
    (line,) = served("/api/translate", {"text": long, "n_best": 9}).json["lines"]
    assert line["omitted"] == "too_long"
    assert line["target"]["text"] == translator.detailed([long], SearchConfig(n_best=4))[0].text
    refused = served("/api/trace", {"text": long})
    assert (refused.status, refused.code, refused.json["error"]["limit"]) == (413, "too_long", LIMIT)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("trace", {"text": "the " * 12}),
        ("permuted", {"text": "the " * 12}),
        ("contexts", {"texts": ["the " * 12] * 2, "word": "the"}),
    ],
)
def test_every_page_has_the_limit_that_was_given(run_folder, path, body):
    with serving(explorer_routes(desk_of(run_folder, limit=8))) as ask:
        refused = ask(f"/api/{path}", body)
    assert (refused.code, refused.json["error"]["limit"]) == ("too_long", 8)
    said = refused.json["error"]["message"]
    assert said.endswith(
        "at most 8 can be traced; shorten it, or raise --max-trace-tokens of `regard explore`"
    )


def test_a_translation_goes_on_from_where_it_is_told(served):
    (line,) = served("/api/translate", {**REQUEST, "prefix": "a bird"}).json["lines"]
    assert line["target"]["text"].startswith("a bird")
    ids = [token["id"] for token in line["target"]["tokens"][:2]]
    (again,) = served("/api/translate", {**REQUEST, "prefix": ids}).json["lines"]
    assert [token["id"] for token in again["target"]["tokens"][:2]] == ids


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("trace", {}, 400, "text must be a text, and is None"),
        ("trace", {"text": 3}, 400, "text must be a text"),
        ("trace", {"text": "\ud800"}, 400, "a lone surrogate"),
        ("trace", {"text": "   "}, 422, "blank"),
        ("trace", {"text": "x" * 20_001}, 413, "20,001 characters"),
        ("trace", {**REQUEST, "beam": 0}, 400, "beam must be a whole number from 1 to 64, and is 0"),
        ("trace", {**REQUEST, "beam": 4.5}, 400, "beam must be a whole number"),
        ("trace", {**REQUEST, "beam": True}, 400, "beam must be a whole number"),
        ("trace", {**REQUEST, "beam": 10**9}, 400, "beam must be a whole number"),
        ("trace", {**REQUEST, "alpha": "0.6"}, 400, "alpha must be a number from 0 to 10"),
        ("trace", {**REQUEST, "top_k": -1}, 400, "top_k must be"),
        ("trace", {**REQUEST, "prefix": {"a": 1}}, 400, "prefix must be"),
        ("trace", {**REQUEST, "prefix": [10**9]}, 422, "prefix has a token"),
        ("trace", {**REQUEST, "prefix": [1.5]}, 400, "prefix must be"),
        ("trace", {**REQUEST, "prefix": "a", "target": "b"}, 422, "cannot both be given"),
        ("trace", {**REQUEST, "interventions": "none"}, 400, "interventions must be a list of objects"),
        ("trace", {**REQUEST, "interventions": [{"type": "x"}]}, 422, "is no intervention"),
        ("trace", {**REQUEST, "interventions": [{"type": ["a"]}]}, 422, "is no intervention"),
        (
            "trace",
            {**REQUEST, "interventions": [{"type": "head", "kind": "cross", "layer": 9, "head": 1}]},
            422,
            "this model has layers 1 to 2",
        ),
        ("trace", {**REQUEST, "step": 7}, 404, "no checkpoint of step 7"),
        ("trace", {**REQUEST, "step": "../../etc"}, 400, "step must be"),
        ("translate", {"text": "a\n" * 200}, 400, "201 lines"),
        ("translate", {"text": "a", "n_best": 0}, 400, "n_best must be"),
        ("steps", {"kind": "cross", "layer": 1, "head": 1, "position": 0}, 400, "request must be an object"),
        (
            "steps",
            {"request": REQUEST, "kind": "sideways"},
            400,
            "kind must be one of encoder, decoder, cross",
        ),
        ("steps", {"request": REQUEST, "kind": "cross", "layer": 3, "head": 1}, 400, "layer must be"),
        ("steps", {"request": REQUEST, "kind": "cross", "layer": 0, "head": 1}, 400, "layer must be"),
        ("steps", {"request": REQUEST, "kind": "cross", "layer": 1, "head": 5}, 400, "head must be"),
        (
            "steps",
            {"request": REQUEST, "kind": "encoder", "layer": 1, "head": 1, "position": 99},
            400,
            "position must be a whole number from 0 to",
        ),
        ("heads", {"request": {"text": ""}}, 422, "blank"),
        ("heads", {"request": []}, 400, "request must be an object"),
        ("neighbours", {"text": ""}, 422, "blank"),
        ("neighbours", {"text": "cat", "side": "up"}, 400, "side must be one of source, target"),
        ("contexts", {"texts": ["a"], "word": "cat"}, 400, "texts must be a list of 2 texts"),
        ("contexts", {"texts": ["the cat", "a dog"], "word": "cat"}, 422, "not in both sentences"),
        ("permuted", {"text": " "}, 422, "blank"),
        ("permuted", {"text": "cat " * 100}, 413, "tokens"),
        ("mixers", {"texts": ["the cat", "the cat sees"]}, 422, "equally many"),
        ("export", {"request": {"text": ""}}, 422, "blank"),
        ("export", {"request": REQUEST, "view": 3}, 400, "view must be a text"),
    ],
)
def test_a_wrong_request_is_told_what_would_be_right(served, path, body, status, said):
    answer = served(f"/api/{path}", body)
    assert said in answer.json["error"]["message"]
    assert answer.status == status


def test_the_steps_end_in_the_weights_of_the_trace(served, translator):
    asked = {"request": REQUEST, "kind": "cross", "layer": 2, "head": 3, "position": 1}
    steps = served("/api/steps", asked).json
    weights = translator.trace(TEXT).attention["cross"][1, 2, 1]
    assert steps["weights"] == pytest.approx(weights.tolist(), abs=1e-5)
    scores = np.array([np.nan if each is None else each for each in steps["masked"]])
    assert np.exp(scores) / np.exp(scores).sum() == pytest.approx(weights, abs=1e-4)


def test_heads_come_line_by_line_and_every_one_of_them(served, translator):
    answer = served("/api/heads", {"request": REQUEST})
    rows = [json.loads(line) for line in answer.body.splitlines()]
    assert len({(row["kind"], row["layer"], row["head"]) for row in rows}) == len(rows) == 3 * 2 * 4
    with torch.inference_mode():
        mine = {each[:3]: each.matters for each in translator.tracer.measure_heads(translator.trace(TEXT))}
    for row in rows:
        key = (row["kind"], row["layer"], row["head"])
        assert row["matters"] == pytest.approx(mine[key], abs=1e-4)


def test_others_have_their_turn_while_heads_are_measured(served):
    with ThreadPoolExecutor(6) as pool:
        heads = [pool.submit(served, "/api/heads", {"request": {"text": text}}) for text in TEXTS[:3]]
        traces = [pool.submit(served, "/api/trace", {"text": text}) for text in TEXTS[:3]]
        assert [answer.result().status for answer in heads + traces] == [200] * 6
        assert all(len(answer.result().body.splitlines()) == 24 for answer in heads)


def test_the_model_whose_heads_are_measured_is_loaded_once(run_folder, monkeypatch):
    desk = desk_of(run_folder)
    models, loaded = desk._models, []
    load = models._load
    monkeypatch.setattr(models, "_load", lambda folder: loaded.append(folder.name) or load(folder))
    asked = {**REQUEST, "step": 100}
    found = desk.stream_from_model(
        ApiRequest(),
        asked,
        lambda model: model.tracer.measure_heads(
            desk.cached_trace(model, desk.parse_trace_request(model, asked))
        ),
    )
    next(found)
    for step in (200, 300):  # the other two push it out
        desk.run_on_model(ApiRequest(), {"step": step}, lambda model: model.id)
    assert len(list(found)) == 23
    assert loaded == ["step-000100", "step-000200", "step-000300"]


def test_many_at_once_get_their_own_answers(served):
    texts = ["the cat", "a dog", "a bird sings", "the dog sees a bird"] * 5
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda text: served("/api/trace", {"text": text}).json, texts))
    assert [answer["source"]["text"] for answer in answers] == texts


def test_a_checkpoint_is_another_model(served):
    ids = {
        step: served("/api/trace", {**REQUEST, "step": step}).json["model"] for step in (None, 100, 200, 300)
    }
    assert len({model["id"] for model in ids.values()}) == 3
    assert ids[None]["id"] == ids[200]["id"]
    assert [ids[step]["step"] for step in (100, 200, 300)] == [100, 200, 300]


def test_two_models_stay_loaded_and_a_deleted_checkpoint_is_said(run_folder, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(run_folder, run)
    desk = desk_of(run)
    models = desk._models
    first = models.get(None)
    models.get(100)
    assert models.get(None) is first
    models.get(300)
    assert list(models._loaded) == [None, 300]
    shutil.rmtree(run / "step-000100")
    with pytest.raises(regard.RegardError, match="no checkpoint of step 100 any more"):
        models.get(100)
    assert [each["step"] for each in desk.run.checkpoint_summary(first.id)["checkpoints"]] == [200, 300]


def test_the_last_traces_are_kept_and_no_more(run_folder):
    desk = desk_of(run_folder)
    model = desk._models.get(None)
    asked = [model.tracer.build_request("the cat", target="a", top_k=1 + n) for n in range(20)]
    made = [desk.cached_trace(model, each) for each in asked]
    assert desk.cached_trace(model, asked[-1]) is made[-1]
    assert desk.cached_trace(model, asked[4]) is made[4]
    assert desk.cached_trace(model, asked[0]) is not made[0]
    assert len(desk._traces) == 16


def test_neighbours_are_the_nearest_pieces(served, translator):
    found = served("/api/neighbours", {"text": "cat", "count": 3}).json
    mine = translator.tracer.nearest_tokens("cat", 3)
    assert [each["id"] for each in found["neighbours"]] == [each.id for each in mine]
    cosines = [each["cosine"] for each in found["neighbours"]]
    assert cosines == sorted(cosines, reverse=True)


def test_one_word_in_two_sentences_begins_alike_and_becomes_another(served):
    found = served("/api/contexts", {"texts": ["the cat sees", "a bird the cat"], "word": "cat"}).json
    assert found["embedding_equal"]
    assert [each["layer"] for each in found["layers"]] == [0, 1, 2]
    assert found["layers"][2]["cosine"] < 0.9999


def test_without_positions_the_order_of_words_makes_no_difference(served):
    found = served("/api/permuted", {"text": TEXT}).json
    words, turned = found["orders"]
    assert words != turned
    assert sorted(words) == sorted(turned)
    assert max(*found["without"]["words"], found["without"]["mean"]) < 1e-4
    assert max(found["with"]["words"]) > 0.01


def test_attention_changes_with_the_sentence_and_the_others_do_not(served, translator):
    texts = ["the cat sees", "a bird sees"]
    found = served("/api/mixers", {"texts": texts, "layer": 2, "head": 1}).json
    for text, weights in zip(texts, found["attention"], strict=True):
        expected = translator.trace(text).attention["encoder"][1, 0]
        assert np.array(weights) == pytest.approx(expected, abs=1e-5)
    first, second, linear = (np.array(each) for each in (*found["attention"], found["linear"]))
    assert linear == pytest.approx((first + second) / 2, abs=1e-5)
    convolved = np.array(found["convolved"])
    for offset, weight in zip(found["convolution"]["offsets"], found["convolution"]["kernel"], strict=True):
        assert np.diagonal(convolved, offset) == pytest.approx(weight, abs=1e-5)
        assert np.diagonal(linear, offset).mean() == pytest.approx(weight, abs=1e-5)
    assert found["change"] == pytest.approx(np.abs(first - second).max(), abs=1e-5)


def test_positions_are_the_tables_of_the_paper_and_of_others(served):
    found = served("/api/positions?length=20&width=512").json
    assert (found["own"], found["learned"]) == ("interleaved", None)
    paper, halves = unpack_array(found["tables"]["interleaved"]), unpack_array(found["tables"]["halves"])
    assert paper.shape == (20, 512)
    assert paper[3, :2] == pytest.approx([np.sin(3), np.cos(3)], abs=1e-6)
    assert np.concatenate([paper[:, 0::2], paper[:, 1::2]], axis=1) == pytest.approx(halves, abs=1e-6)
    for query in ("length=0", "length=9999", "length=x", "width=1", "length=-1", "length=" + "9" * 40):
        assert served(f"/api/positions?{query}").code == "bad_value"


def test_positions_fade_point_by_point(served):
    found = served("/api/survives", {"request": REQUEST}).json
    assert found["encoder"]["points"][:2] == ["embed", "1.self"]
    assert len(found["decoder"]["mean"]) == len(found["decoder"]["points"]) == 1 + 2 * 3
    assert set(found) == {"encoder", "decoder"}


def test_the_metrics_of_the_run_can_be_followed(served):
    run = served("/api/info").json["run"]["id"]
    found = served(f"/api/runs/{run}/metrics").json
    assert [row["kind"] for row in found["rows"]] == ["train", "valid", "valid"]
    assert served(f"/api/runs/{run}/metrics?since={found['next']}").json["rows"] == []
    assert served(f"/api/runs/{run}/metrics?since=x").code == "bad_value"
    assert served("/api/runs/other/metrics").status == 404


def test_an_export_holds_the_trace_and_the_view(served, translator):
    answer = served("/api/export", {"request": REQUEST, "view": "#/steps?layer=2"})
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    page = answer.body.decode()
    assert '<script type="text/plain" id="regard-view">#/steps?layer=2</script>' in page
    said = page.split('id="regard-trace">')[1].split("</script>")[0]
    assert Trace.from_json(json.loads(said)).target == translator.trace(TEXT).target


def test_an_export_searches_for_nothing_again(run_folder, monkeypatch):
    expected = Translator.load(run_folder / "step-000100", "cpu", "torch").trace(TEXT).to_json()["qkv"]
    with serving(explorer_routes(desk_of(run_folder))) as ask:
        traced = ask("/api/trace", {**REQUEST, "step": 100}).json
        monkeypatch.setattr("regard.translation.tracing.search_with_record", None)
        answer = ask("/api/export", {"request": {**traced["request"], "step": 100}})
    assert answer.status == 200
    said = json.loads(answer.body.decode().split('id="regard-trace">')[1].split("</script>")[0])
    assert {**said, "qkv": None} == {**traced, "qkv": None}
    for kind, every in expected.items():
        for name in "qkv":
            assert unpack_array(said["qkv"][kind][name]) == pytest.approx(unpack_array(every[name]), abs=1e-3)


def test_the_first_sentence_is_one_that_the_model_knows(run_folder, tmp_path):
    assert find_example_text(run_folder, find_training_run(run_folder)) == "a bird sings."
    assert find_example_text(run_folder / "model", find_training_run(run_folder / "model")) == "a bird sings."
    alone = save_random(tmp_path / "alone", 1)
    assert find_example_text(alone, find_training_run(alone)) == ""
    head = "# x\n\n| source | reference | this model |\n| --- | --- | --- |\n"
    card = head + "| a \\| b &lt;c\\_d | e | f |\n| g | h | i |\n"
    (alone / "README.md").write_text(card)
    assert find_example_text(alone, find_training_run(alone)) == "a | b <c_d"
    write_metrics(tmp_path, {"kind": "train", "step": 1})
    assert find_example_text(alone, find_training_run(alone)) == "a | b <c_d"
