"""Replicas of a regard translator on a Ray cluster.

REGARD_MODEL=/models/en-fr serve run translator_app:app
"""

import asyncio
import os
from typing import Any

import ray
from ray import serve
from starlette.requests import Request

import regard

MAX_TEXTS, MAX_CHARACTERS = 128, 5000
"""Texts of a request, and characters of a text."""


@serve.deployment(
    ray_actor_options={"num_cpus": 1},
    max_ongoing_requests=64,
    autoscaling_config={"min_replicas": 2, "max_replicas": 8, "target_ongoing_requests": 16},
)
class TranslatorReplica:
    """A model in each replica; Ray collects texts of concurrent requests into batches."""

    def __init__(self, model: str) -> None:
        self._translator = regard.Translator.load(model, engine="ctranslate2")
        self._node = ray.get_runtime_context().get_node_id()

    @serve.batch(max_batch_size=64, batch_wait_timeout_s=0.005)
    async def translate(self, texts: list[str]) -> list[str]:
        return await asyncio.to_thread(self._translator.translate, texts)

    async def __call__(self, request: Request) -> Any:
        """Answer `{"text": [...]}` with the translations, and the node that made them."""
        body = await request.json()
        texts = body.get("text") if isinstance(body, dict) else None
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            return {"error": "send text, a list of strings"}
        if len(texts) > MAX_TEXTS or any(len(each) > MAX_CHARACTERS for each in texts):
            return {"error": f"send at most {MAX_TEXTS} texts of {MAX_CHARACTERS} characters"}
        translations = await asyncio.gather(*(self.translate(each) for each in texts))
        return {"translations": translations, "node": self._node}


app = TranslatorReplica.bind(os.environ.get("REGARD_MODEL", "model"))
