import asyncio
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import regard
from regard.checkpoint import publish_model
from regard.search.config import SearchConfig
from regard.server.explorer.explorer_api import explorer_routes
from regard.server.explorer.training_runs import find_example_text, find_training_run
from regard.trace.interventions import AblateHead
from regard.trace.packing import unpack_array
from regard.trace.trace import Trace
from regard.translation.translator import Translator
from regard.translation.unlike_training import LikelihoodCalibration
from server.conftest import LIMIT, TEXTS, build_service, save_random, write_metrics
from server.http_client import run_server

TEXT = "the cat sees"
REQUEST = {"text": TEXT}


def test_info_describes_model_run_and_limits(client, translator):
    info = client("/api/info").json
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


def test_an_averaged_model_is_none_of_the_checkpoints(run_folder, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(run_folder, run)
    for name in ("mean", "model"):
        shutil.rmtree(run / name, ignore_errors=True)
        save_random(run / name, 7)
    with run_server(explorer_routes(build_service(run))) as run_client:
        assert run_client("/api/info").json["run"]["mean"]
        assert not any(each["model"] for each in run_client("/api/info").json["run"]["checkpoints"])
        (run / "mean" / "manifest.json").write_text("{")
        assert not run_client("/api/info").json["run"]["mean"]


def test_blocks_are_in_the_order_of_figure_1(client):
    info = client("/api/info").json
    assert [block["id"] for block in info["blocks"]] == [
        "embedding.source",
        *("encoder.1.self", "encoder.1.ffn", "encoder.2.self", "encoder.2.ffn"),
        "embedding.target",
        *("decoder.1.self", "decoder.1.cross", "decoder.1.ffn"),
        *("decoder.2.self", "decoder.2.cross", "decoder.2.ffn"),
        "output",
    ]
    cross = next(block for block in info["blocks"] if block["id"] == "decoder.2.cross")
    assert (cross["stack"], cross["layer"], cross["kind"]) == ("decoder", 2, "cross")
    assert ["query.weight", [16, 16]] in cross["shapes"]


@pytest.mark.parametrize("config", [{"norm": "pre"}, {"position": "learned"}, {"tied": "none"}])
def test_every_parameter_belongs_to_a_block(tmp_path, config):
    service = build_service(save_random(tmp_path / "model", 0, **config))

    with run_server(explorer_routes(service)) as run_client:
        info = run_client("/api/info").json
    assert info["model"]["parameters"] == sum(block["parameters"] for block in info["blocks"])
    assert info["run"] is None


def test_a_trace_equals_that_of_the_translator(client, translator):
    data = client("/api/trace", REQUEST, Accept_Encoding="gzip").json
    trace, expected = Trace.from_json(data), translator.trace(TEXT)
    assert trace.id == expected.id
    assert trace.target == expected.target
    for kind in ("encoder", "decoder", "cross"):
        assert trace.attention[kind] == pytest.approx(expected.attention[kind], abs=1e-5)


def test_the_request_in_a_trace_can_be_sent_again(client):
    """Prefix and target are accepted as text, and as the token ids of a trace."""
    head = {"type": "head", "kind": "cross", "layer": 2, "head": 3, "mode": "zero"}
    first = client("/api/trace", {**REQUEST, "beam": 2, "prefix": "a bird", "interventions": [head]}).json
    assert first["target"]["text"].startswith("a bird")
    again = client("/api/trace", {**first["request"], "step": None}).json
    assert again["id"] == first["id"]
    forced = client("/api/trace", {**REQUEST, "target": "a dog", "prefix": []}).json
    assert (forced["target"]["text"], forced["target"]["forced"]) == ("a dog", True)


def test_an_intervention_has_the_effect_it_has_in_python(client, translator):
    head = {"type": "head", "kind": "cross", "layer": 2, "head": 3, "mode": "zero"}
    data = client("/api/trace", {**REQUEST, "interventions": [head]}).json
    expected = translator.trace(TEXT, interventions=[AblateHead("cross", 2, 3)])
    assert data["target"]["logprob"] == pytest.approx(expected.target.logprob, abs=1e-5)
    assert data["target"]["logprob"] != pytest.approx(translator.trace(TEXT).target.logprob, abs=1e-5)


def test_lines_are_translated_separately(client, translator):
    response = client("/api/translate", {"text": f"{TEXT}\n\n  \na dog", "beam": 3, "n_best": 2}).json
    first, empty, spaces, last = response["lines"]
    assert response["ms"] > 0
    payload = translator.translate_detailed([TEXT, "a dog"], SearchConfig(3, n_best=2))
    for line, expected in zip((first, last), payload, strict=True):
        assert line["target"]["text"] == expected.text
        assert [each["text"] for each in line["n_best"]] == [
            expected.text,
            *(other.text for other in expected.alternatives),
        ]
        assert line["n_best"][0]["score"] == pytest.approx(expected.score, abs=1e-4)
        assert line["omitted"] is None
    for blank in (empty, spaces):
        assert blank["source"]["tokens"] == blank["target"]["tokens"] == blank["n_best"] == []


def test_alignment_rows_sum_to_one_without_special_tokens(client):
    (line,) = client("/api/translate", REQUEST).json["lines"]
    rows = np.array(line["alignment"])
    assert rows.shape == (len(line["target"]["tokens"]), len(line["source"]["tokens"]))
    assert rows.sum(axis=1) == pytest.approx(1, abs=1e-3)
    special = [token.get("special") is not None for token in line["source"]["tokens"]]
    assert special[-1]
    assert (rows[:, special] == 0).all()


def test_a_line_too_long_to_trace_is_translated(client, translator):
    long = " ".join(["the cat sees a dog."] * 8)
    (line,) = client("/api/translate", {"text": long, "n_best": 9}).json["lines"]
    assert line["omitted"] == "too_long"
    assert line["target"]["text"] == translator.translate_detailed([long], SearchConfig(n_best=4))[0].text
    refused = client("/api/trace", {"text": long})
    assert (refused.status, refused.code, refused.json["error"]["limit"]) == (413, "too_long", LIMIT)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("trace", {"text": "the " * 12}),
        ("word_order", {"text": "the " * 12}),
        ("contexts", {"texts": ["the " * 12] * 2, "word": "the"}),
    ],
)
def test_the_trace_limit_holds_for_every_route(run_folder, path, body):
    with run_server(explorer_routes(build_service(run_folder, limit=8))) as run_client:
        refused = run_client(f"/api/{path}", body)
    assert (refused.code, refused.json["error"]["limit"]) == ("too_long", 8)
    data = refused.json["error"]["message"]
    assert data.endswith(
        "at most 8 can be traced; shorten it, or raise --max-trace-tokens of `regard explore`"
    )


def test_a_translation_starts_with_the_prefix(client):
    (line,) = client("/api/translate", {**REQUEST, "prefix": "a bird"}).json["lines"]
    assert line["target"]["text"].startswith("a bird")
    ids = [token["id"] for token in line["target"]["tokens"][:2]]
    (again,) = client("/api/translate", {**REQUEST, "prefix": ids}).json["lines"]
    assert [token["id"] for token in again["target"]["tokens"][:2]] == ids


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("trace", {}, 400, "text must be a text, and is None"),
        ("trace", {"text": 3}, 400, "text must be a text"),
        ("trace", {"text": "\ud800"}, 400, "lone surrogates"),
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
        ("trace", {**REQUEST, "prefix": "a", "target": "b"}, 422, "exclude each other"),
        ("trace", {**REQUEST, "interventions": "none"}, 400, "interventions must be a list of objects"),
        ("trace", {**REQUEST, "interventions": [{"type": "x"}]}, 422, "is not an intervention"),
        ("trace", {**REQUEST, "interventions": [{"type": ["a"]}]}, 422, "is not an intervention"),
        (
            "trace",
            {**REQUEST, "interventions": [{"type": "head", "kind": "cross", "layer": 9, "head": 1}]},
            422,
            "this model has layers 1 to 2",
        ),
        ("trace", {**REQUEST, "step": 7}, 404, "checkpoint step 7 does not exist"),
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
        ("head_importance", {"request": {"text": ""}}, 422, "blank"),
        ("head_importance", {"request": []}, 400, "request must be an object"),
        ("neighbours", {"text": ""}, 422, "blank"),
        ("neighbours", {"text": "cat", "side": "up"}, 400, "side must be one of source, target"),
        ("contexts", {"texts": ["a"], "word": "cat"}, 400, "texts must be a list of 2 texts"),
        ("contexts", {"texts": ["the cat", "a dog"], "word": "cat"}, 422, "not in both sentences"),
        ("word_order", {"text": " "}, 422, "blank"),
        ("word_order", {"text": "cat " * 100}, 413, "tokens"),
        ("token_mixers", {"texts": ["the cat", "the cat sees"]}, 422, "the same number"),
        ("export", {"request": {"text": ""}}, 422, "blank"),
        ("export", {"request": REQUEST, "view": 3}, 400, "view must be a text"),
    ],
)
def test_an_invalid_request_gets_a_precise_error(client, path, body, status, message):
    response = client(f"/api/{path}", body)
    assert message in response.json["error"]["message"]
    assert response.status == status


def test_attention_steps_end_in_the_weights_of_the_trace(client, translator):
    body = {"request": REQUEST, "kind": "cross", "layer": 2, "head": 3, "position": 1}
    steps = client("/api/steps", body).json
    weights = translator.trace(TEXT).attention["cross"][1, 2, 1]
    assert steps["weights"] == pytest.approx(weights.tolist(), abs=1e-5)
    scores = np.array([np.nan if each is None else each for each in steps["masked"]])
    assert np.exp(scores) / np.exp(scores).sum() == pytest.approx(weights, abs=1e-4)


def test_head_importance_is_streamed_for_every_head(client, translator):
    response = client("/api/head_importance", {"request": REQUEST})
    rows = [json.loads(line) for line in response.body.splitlines()]
    assert len({(row["kind"], row["layer"], row["head"]) for row in rows}) == len(rows) == 3 * 2 * 4
    with torch.inference_mode():
        expected = {
            each[:3]: each.importance for each in translator.tracer.measure_heads(translator.trace(TEXT))
        }
    for row in rows:
        key = (row["kind"], row["layer"], row["head"])
        assert row["importance"] == pytest.approx(expected[key], abs=1e-4)


def test_other_requests_run_while_heads_are_measured(client):
    with ThreadPoolExecutor(6) as pool:
        requests = [{"request": {"text": text}} for text in TEXTS[:3]]
        heads = [pool.submit(client, "/api/head_importance", request) for request in requests]
        traces = [pool.submit(client, "/api/trace", {"text": text}) for text in TEXTS[:3]]
        assert [response.result().status for response in heads + traces] == [200] * 6
        assert all(len(response.result().body.splitlines()) == 24 for response in heads)


def test_a_streaming_request_keeps_its_checkpoint(run_folder, monkeypatch):
    service = build_service(run_folder)
    models, loaded_folders = service.models, []
    load = models._load
    monkeypatch.setattr(models, "_load", lambda folder: loaded_folders.append(folder.name) or load(folder))
    body = {**REQUEST, "step": 100}

    async def measure():
        importances = await service.stream_from_model(
            body,
            lambda model: model.tracer.measure_heads(
                service.cached_trace(model, service.parse_trace_request(model, body))
            ),
        )
        await anext(importances)
        for step in (200, 300):  # evict it from the cache
            await service.run_on_model({"step": step}, lambda model: model.id)
        return [each async for each in importances]

    assert len(asyncio.run(measure())) == 23
    assert loaded_folders == ["step-000100", "step-000200", "step-000300"]


def test_concurrent_requests_get_their_own_responses(client):
    texts = ["the cat", "a dog", "a bird sings", "the dog sees a bird"] * 5
    with ThreadPoolExecutor(10) as pool:
        responses = list(pool.map(lambda text: client("/api/trace", {"text": text}).json, texts))
    assert [response["source"]["text"] for response in responses] == texts


def test_a_checkpoint_is_a_different_model(client):
    ids = {
        step: client("/api/trace", {**REQUEST, "step": step}).json["model"] for step in (None, 100, 200, 300)
    }
    assert len({model["id"] for model in ids.values()}) == 3
    assert ids[None]["id"] == ids[200]["id"]
    assert [ids[step]["step"] for step in (100, 200, 300)] == [100, 200, 300]


def test_two_checkpoints_stay_loaded_and_a_deleted_one_is_an_error(run_folder, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(run_folder, run)
    service = build_service(run)
    models = service.models
    first = models.get(None)
    models.get(100)
    assert models.get(None) is first
    models.get(300)
    assert list(models._loaded) == [None, 300]
    shutil.rmtree(run / "step-000100")
    with pytest.raises(regard.RegardError, match="checkpoint step 100 does not exist any more"):
        models.get(100)
    assert [each["step"] for each in service.run.checkpoint_summary(first.id)["checkpoints"]] == [200, 300]


def test_the_latest_traces_are_cached(run_folder):
    service = build_service(run_folder)
    model = service.models.get(None)
    requests = [model.tracer.build_request("the cat", target="a", top_k=1 + n) for n in range(20)]
    traces = [service.cached_trace(model, each) for each in requests]
    assert service.cached_trace(model, requests[-1]) is traces[-1]
    assert service.cached_trace(model, requests[4]) is traces[4]
    assert service.cached_trace(model, requests[0]) is not traces[0]
    assert len(service._traces) == 16


def test_neighbours_equal_those_of_the_tracer(client, translator):
    payload = client("/api/neighbours", {"text": "cat", "count": 3}).json
    expected = translator.tracer.nearest_tokens("cat", 3)
    assert [each["id"] for each in payload["neighbours"]] == [each.id for each in expected]
    cosines = [each["cosine"] for each in payload["neighbours"]]
    assert cosines == sorted(cosines, reverse=True)


def test_a_word_in_two_sentences_has_equal_embeddings_and_different_outputs(client):
    payload = client("/api/contexts", {"texts": ["the cat sees", "a bird the cat"], "word": "cat"}).json
    assert payload["embedding_equal"]
    assert [each["layer"] for each in payload["layers"]] == [0, 1, 2]
    assert payload["layers"][2]["cosine"] < 0.9999


def test_without_positions_word_order_does_not_matter(client):
    payload = client("/api/word_order", {"text": TEXT}).json
    words, reversed_words = payload["orders"]
    assert words != reversed_words
    assert sorted(words) == sorted(reversed_words)
    assert max(*payload["without"]["words"], payload["without"]["mean"]) < 1e-4
    assert max(payload["with"]["words"]) > 0.01


def test_token_mixers_are_fitted_to_the_attention_weights(client, translator):
    texts = ["the cat sees", "a bird sees"]
    payload = client("/api/token_mixers", {"texts": texts, "layer": 2, "head": 1}).json
    for text, weights in zip(texts, payload["attention"], strict=True):
        expected = translator.trace(text).attention["encoder"][1, 0]
        assert np.array(weights) == pytest.approx(expected, abs=1e-5)
    first, second, linear = (np.array(each) for each in (*payload["attention"], payload["linear"]))
    assert linear == pytest.approx((first + second) / 2, abs=1e-5)
    convolved = np.array(payload["convolved"])
    for offset, weight in zip(
        payload["convolution"]["offsets"], payload["convolution"]["kernel"], strict=True
    ):
        assert np.diagonal(convolved, offset) == pytest.approx(weight, abs=1e-5)
        assert np.diagonal(linear, offset).mean() == pytest.approx(weight, abs=1e-5)
    assert payload["change"] == pytest.approx(np.abs(first - second).max(), abs=1e-5)


def test_position_tables_have_the_layouts_in_use(client):
    payload = client("/api/positions?length=20&width=512").json
    assert (payload["own"], payload["learned"]) == ("interleaved", None)
    paper, halves = unpack_array(payload["tables"]["interleaved"]), unpack_array(payload["tables"]["halves"])
    assert paper.shape == (20, 512)
    assert paper[3, :2] == pytest.approx([np.sin(3), np.cos(3)], abs=1e-6)
    assert np.concatenate([paper[:, 0::2], paper[:, 1::2]], axis=1) == pytest.approx(halves, abs=1e-6)
    for query in ("length=0", "length=9999", "length=x", "width=1", "length=-1", "length=" + "9" * 40):
        assert client(f"/api/positions?{query}").code == "bad_value"


def test_position_survival_has_every_point(client):
    payload = client("/api/position_survival", {"request": REQUEST}).json
    assert payload["encoder"]["points"][:2] == ["embed", "1.self"]
    assert len(payload["decoder"]["mean"]) == len(payload["decoder"]["points"]) == 1 + 2 * 3
    assert set(payload) == {"encoder", "decoder"}


def test_metrics_can_be_polled(client):
    run = client("/api/info").json["run"]["id"]
    payload = client(f"/api/runs/{run}/metrics").json
    assert [row["kind"] for row in payload["rows"]] == ["train", "valid", "valid"]
    assert client(f"/api/runs/{run}/metrics?since={payload['next']}").json["rows"] == []
    assert client(f"/api/runs/{run}/metrics?since=x").code == "bad_value"
    assert client("/api/runs/other/metrics").status == 404


def test_an_export_contains_trace_and_view(client, translator):
    response = client("/api/export", {"request": REQUEST, "view": "#/steps?layer=2"})
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-disposition"].startswith("attachment")
    page = response.body.decode()
    assert '<script type="text/plain" id="regard-view">#/steps?layer=2</script>' in page
    data = page.split('id="regard-trace">')[1].split("</script>")[0]
    assert Trace.from_json(json.loads(data)).target == translator.trace(TEXT).target


def test_an_export_does_not_search_again(run_folder, monkeypatch):
    expected = Translator.load(run_folder / "step-000100", "cpu", "torch").trace(TEXT).to_json()["qkv"]
    with run_server(explorer_routes(build_service(run_folder))) as run_client:
        traced = run_client("/api/trace", {**REQUEST, "step": 100}).json
        monkeypatch.setattr("regard.translation.tracing.search_with_record", None)
        response = run_client("/api/export", {"request": {**traced["request"], "step": 100}})
    assert response.status == 200
    data = json.loads(response.body.decode().split('id="regard-trace">')[1].split("</script>")[0])
    assert {**data, "qkv": None} == {**traced, "qkv": None}
    for kind, projections in expected.items():
        for name in "qkv":
            assert unpack_array(data["qkv"][kind][name]) == pytest.approx(
                unpack_array(projections[name]), abs=1e-3
            )


def test_the_example_is_a_sample_or_from_the_model_card(run_folder, tmp_path):
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


def test_payloads_say_whether_the_text_is_unlike_the_training_text(tmp_path):
    folder = save_random(tmp_path / "model", 0)
    with run_server(explorer_routes(build_service(folder))) as run_client:
        assert run_client("/api/trace", REQUEST).json["target"]["unlike_training"] is None
    calibration = LikelihoodCalibration(100, 0.0, 0.0)  # flags every text
    publish_model(folder, folder, metadata=calibration.to_manifest())
    with run_server(explorer_routes(build_service(folder))) as run_client:
        assert run_client("/api/trace", REQUEST).json["target"]["unlike_training"] is True
        forced = run_client("/api/trace", {**REQUEST, "prefix": "the"}).json
        assert forced["target"]["unlike_training"] is None
        long_line = "the cat sees the dog. " * 3
        lines = run_client("/api/translate", {"text": f"{TEXT}\n\n{long_line}"}).json["lines"]
    assert [line["omitted"] for line in lines] == [None, None, "too_long"]
    assert [line["target"]["unlike_training"] for line in lines] == [True, None, True]
