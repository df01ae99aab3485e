"""The table of addresses: what may be asked of a model, and who answers it."""

from collections.abc import Sequence
from dataclasses import asdict
from time import perf_counter

from regard import __version__
from regard.explorer import fields
from regard.explorer.blocks import blocks
from regard.explorer.desk import LONGEST, WIDEST, Desk
from regard.explorer.fields import Body
from regard.explorer.files import file_routes
from regard.explorer.lines import translated
from regard.explorer.reply import HTML, Reply, Request, RequestError, Route, Routes, reply
from regard.explorer.run import Run
from regard.explorer.training import named, training_routes
from regard.trace.html import document, front_end

MOST_LINES = 100


def routes(desk: Desk, others: Sequence[Run] = ()) -> Routes:
    """Everything there is: the page's files and the questions it can ask; `others` have curves only."""
    runs = [*([] if desk.run is None else [desk.run]), *others]
    api = Api(desk, runs)
    posts: dict[str, Route] = {
        "translate": api.translate,
        "trace": api.trace,
        "export": api.export,
    }
    found: dict[str, dict[str, Route]] = {f"/api/{name}": {"POST": route} for name, route in posts.items()}
    found["/api/info"] = {"GET": api.info}
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
        own = None if run is None else {**names[0], "checkpoints": run.checkpoints}
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
        lines = fields.short_text(body, "text", LONGEST).split("\n")
        if len(lines) > MOST_LINES:
            message = f"{len(lines)} lines are more than are translated at once, {MOST_LINES}"
            raise RequestError("too_many_lines", message, limit=MOST_LINES)
        n_best = fields.whole(body, "n_best", 1, 1, WIDEST)
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

    def export(self, request: Request) -> Reply:
        """The self-contained page."""
        desk, body = self._desk, inner(request.body)
        view = fields.short_text(request.body, "view", 2000) if "view" in request.body else ""
        limit = desk.offer.max_trace_tokens
        found = desk.work(
            request, body, lambda model: model.tracer.trace(desk.asked(model, body), limit, qkv=True)
        )
        headers = {"Content-Disposition": 'attachment; filename="translation.html"'}
        return Reply(document(found, view).encode(), HTML, headers=headers)


def inner(body: Body) -> Body:
    """The request of a trace inside the body of another."""
    return fields.inner(body, "request")
