"""What is asked of a model that does not translate: what it is, and where it looks in one text or series."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Protocol

from regard.server import request_fields
from regard.server.checkpoint_cache import Models
from regard.server.http_messages import HTML, Reply, Request, Routes, reply
from regard.server.request_queue import Work
from regard.server.static_files import file_routes
from regard.server.trace_service import LONGEST, Offer
from regard.server.training_runs import Run, named, training_routes
from regard.trace.page import document, front_end
from regard.trace.schema import ModelFacts
from regard.trace.trace import Trace
from regard.version import __version__


class Looker(Protocol):
    """A model that can be looked into."""

    def facts(self) -> ModelFacts: ...

    def trace(self, text: str, max_tokens: int) -> Trace:
        """Where it looks: in a text, or in the series of that name."""
        ...


class Glances:
    """One method for each question."""

    def __init__(self, models: Models[Looker], run: Run | None, offer: Offer, others: Sequence[Run]) -> None:
        self._work, self._run, self._offer = Work(models), run, offer
        self._runs = [*([] if run is None else [run]), *others]

    def routes(self) -> Routes:
        """The page's files, and the questions it can ask."""
        return {
            **file_routes(front_end()),
            **training_routes(self._runs),
            "/api/info": {"GET": self.info},
            "/api/trace": {"POST": self.trace},
            "/api/export": {"POST": self.export},
        }

    def info(self, request: Request) -> Reply:
        """What there is to look into."""
        facts = self._work.on(request, {}, lambda model: model.facts())
        names = named(self._runs)
        own = None if self._run is None else {**names[0], **self._run.stops(facts.id)}
        return reply(
            {
                "regard": __version__,
                "model": asdict(facts),
                "limits": {"max_trace_tokens": self._offer.max_trace_tokens},
                "example": self._offer.example,
                "run": own,
                "others": names[1:],
            }
        )

    def trace(self, request: Request) -> Reply:
        return Reply(self._traced(request, request.body).dumps().encode())

    def export(self, request: Request) -> Reply:
        """The self-contained page."""
        view = request_fields.short_text({"view": "#/attention", **request.body}, "view", 2000)
        found = self._traced(request, request_fields.inner(request.body, "request"))
        headers = {"Content-Disposition": 'attachment; filename="attention.html"'}
        return Reply(document(found, view).encode(), HTML, headers=headers)

    def _traced(self, request: Request, body: request_fields.Body) -> Trace:
        text, limit = request_fields.short_text(body, "text", LONGEST), self._offer.max_trace_tokens
        return self._work.on(request, body, lambda model: model.trace(text, limit))
