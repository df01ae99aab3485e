"""The table of addresses: what may be asked of a model, and who answers it."""

from collections.abc import Sequence
from dataclasses import asdict
from time import perf_counter
from typing import Any, Literal

from regard.server import request_fields
from regard.server.checkpoint_cache import Model
from regard.server.http_messages import (
    HTML,
    LINES,
    Reply,
    Request,
    RequestError,
    Route,
    Routes,
    reply,
    written,
)
from regard.server.model_blocks import blocks
from regard.server.probe_payloads import alike, mixers, near, positions, survived
from regard.server.request_fields import Body
from regard.server.static_files import file_routes
from regard.server.trace_service import LONGEST, MOST_CANDIDATES, WIDEST, Desk
from regard.server.training_runs import Run, named, training_routes
from regard.server.translate_payload import translated
from regard.trace.interventions import KINDS, layers_of
from regard.trace.page import document, front_end
from regard.version import __version__

MOST_LINES = 100
MOST_POSITIONS, WIDEST_TABLE = 512, 2048
SIDES: tuple[Literal["source", "target"], ...] = ("source", "target")


def routes(desk: Desk, others: Sequence[Run] = ()) -> Routes:
    """Everything there is: the page's files and the questions it can ask; `others` have curves only."""
    runs = [*([] if desk.run is None else [desk.run]), *others]
    api = Api(desk, runs)
    posts: dict[str, Route] = {
        "translate": api.translate,
        "trace": api.trace,
        "steps": api.steps,
        "heads": api.heads,
        "survives": api.survives,
        "neighbours": api.neighbours,
        "contexts": api.contexts,
        "permuted": api.permuted,
        "mixers": api.mixers,
        "export": api.export,
    }
    found: dict[str, dict[str, Route]] = {f"/api/{name}": {"POST": route} for name, route in posts.items()}
    found |= {"/api/info": {"GET": api.info}, "/api/positions": {"GET": api.positions}}
    return {**file_routes(front_end()), **training_routes(runs), **found}


class Api:
    """One method for each question."""

    def __init__(self, desk: Desk, runs: Sequence[Run]) -> None:
        self._desk, self._runs = desk, runs

    def info(self, request: Request) -> Reply:
        """What there is to look into."""
        run, offer = self._desk.run, self._desk.offer
        facts, found = self._desk.work(
            request, {}, lambda model: (model.tracer.facts(), blocks(model.config))
        )
        names = named(self._runs)
        own = None if run is None else {**names[0], **run.stops(facts.id)}
        return reply(
            {
                "regard": __version__,
                "model": asdict(facts),
                "languages": {"source": facts.source_lang, "target": facts.target_lang},
                "limits": {"max_trace_tokens": offer.max_trace_tokens},
                "search": {"beam": offer.search.beam, "alpha": offer.search.alpha},
                "example": offer.example,
                "run": own,
                "others": names[1:],
                "blocks": found,
            }
        )

    def translate(self, request: Request) -> Reply:
        """Line by line; whoever waits has a turn between two lines."""
        body, began = request.body, perf_counter()
        lines = request_fields.short_text(body, "text", LONGEST).split("\n")
        if len(lines) > MOST_LINES:
            message = f"{len(lines)} lines are more than are translated at once, {MOST_LINES}"
            raise RequestError("too_many_lines", message, limit=MOST_LINES)
        n_best = request_fields.whole(body, "n_best", 1, 1, WIDEST)
        found = [
            self._desk.work(
                request, body, lambda model, line=line: translated(self._desk, model, body, line, n_best)
            )
            for line in lines
        ]
        return reply({"lines": found, "ms": round(1000 * (perf_counter() - began), 1)})

    def trace(self, request: Request) -> Reply:
        """One translation, looked into."""
        desk, body = self._desk, request.body
        said = desk.work(
            request, body, lambda model: desk.trace(model, desk.asked(model, body)).dumps().encode()
        )
        return Reply(said)

    def steps(self, request: Request) -> Reply:
        """One word and one head, step by step."""
        desk, body = self._desk, request.body

        def work(model: Model) -> dict[str, Any]:
            kind = request_fields.choice(body, "kind", KINDS)
            layer = request_fields.whole(body, "layer", None, 1, layers_of(model.config, kind))
            head = request_fields.whole(body, "head", None, 1, model.config.heads)
            trace = desk.trace(model, desk.asked(model, inner(body)))
            rows = trace.source.tokens if kind == "encoder" else trace.target.tokens
            position = request_fields.whole(body, "position", None, 0, len(rows) - 1)
            return model.tracer.steps(trace, kind, layer, head, position)

        return reply(desk.work(request, inner(body), work))

    def heads(self, request: Request) -> Reply:
        """What each head matters, one line for each as it is measured."""
        desk, body = self._desk, inner(request.body)
        found = desk.works(
            request, body, lambda model: model.tracer.matters(desk.trace(model, desk.asked(model, body)))
        )
        return Reply((written(each._asdict()) + b"\n" for each in found), LINES)

    def survives(self, request: Request) -> Reply:
        """How much of the positions is left after each sublayer."""
        desk, body = self._desk, inner(request.body)

        def work(model: Model) -> dict[str, Any]:
            trace = desk.trace(model, desk.asked(model, body))
            return survived(model.tracer.survival(trace))

        return reply(desk.work(request, body, work))

    def neighbours(self, request: Request) -> Reply:
        """The pieces that lie nearest to a word."""
        body = request.body
        word = request_fields.short_text(body, "text", LONGEST)
        count = request_fields.whole(body, "count", 12, 1, MOST_CANDIDATES)
        side = request_fields.choice({"side": "source", **body}, "side", SIDES)
        return reply(self._desk.work(request, body, lambda model: near(model, word, count, side)))

    def contexts(self, request: Request) -> Reply:
        """One word in two sentences."""
        body = request.body
        first, second = request_fields.texts(body, "texts", 2, LONGEST)
        word = request_fields.short_text(body, "word", LONGEST)
        limit = self._desk.offer.max_trace_tokens
        return reply(
            self._desk.work(
                request,
                body,
                lambda model: alike(word, model.tracer.in_two_contexts(word, first, second, limit)),
            )
        )

    def permuted(self, request: Request) -> Reply:
        """The same words in another order, with positions and without."""
        text = request_fields.short_text(request.body, "text", LONGEST)
        limit = self._desk.offer.max_trace_tokens
        return reply(self._desk.work(request, request.body, lambda model: model.tracer.permuted(text, limit)))

    def mixers(self, request: Request) -> Reply:
        """One head beside weights that do not change with the input."""
        desk, body = self._desk, request.body
        texts = request_fields.texts(body, "texts", 2, LONGEST)

        def work(model: Model) -> dict[str, Any]:
            layer = request_fields.whole(body, "layer", 1, 1, model.config.encoder_layers)
            head = request_fields.whole(body, "head", 1, 1, model.config.heads)
            first, second = (desk.trace(model, desk.asked(model, {"text": text})) for text in texts)
            return mixers(first, second, layer, head)

        return reply(desk.work(request, body, work))

    def positions(self, request: Request) -> Reply:
        """Every table of sinusoids, and the model's own where it was learnt."""
        query = request_fields.numbers(request.query)
        length = request_fields.whole(query, "length", 20, 1, MOST_POSITIONS)

        def work(model: Model) -> dict[str, Any]:
            width = request_fields.whole(query, "width", model.config.d_model, 2, WIDEST_TABLE)
            return positions(model, length, width)

        return reply(self._desk.work(request, {}, work))

    def export(self, request: Request) -> Reply:
        """The self-contained page."""
        desk, body = self._desk, inner(request.body)
        view = request_fields.short_text({"view": "#/attention", **request.body}, "view", 2000)
        found = desk.work(
            request, body, lambda model: model.tracer.with_qkv(desk.trace(model, desk.asked(model, body)))
        )
        headers = {"Content-Disposition": 'attachment; filename="translation.html"'}
        return Reply(document(found, view).encode(), HTML, headers=headers)


def inner(body: Body) -> Body:
    """The request of a trace inside the body of another."""
    return request_fields.inner(body, "request")
