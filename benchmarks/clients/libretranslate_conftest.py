"""The `client` fixture of LibreTranslate's API tests, over HTTP: `LIBRETRANSLATE_URL` is the server."""

import json
import os
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest


class Answer:
    def __init__(self, status_code, data):
        self.status_code, self.data = status_code, data

    @property
    def json(self):
        return json.loads(self.data)


class Client:
    """Sends what a test client of Flask would."""

    def get(self, path):
        return self._send(path, "GET", None, {})

    def post(self, path, data=None, json=None):
        return self._send(path, "POST", data, json)

    def _send(self, path, method, data, document):
        headers = {}
        content = b"" if method == "POST" else None
        if data:
            content, headers = urlencode(data).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
        elif document:
            content, headers = json.dumps(document).encode(), {"Content-Type": "application/json"}
        request = Request(os.environ["LIBRETRANSLATE_URL"] + path, content, headers, method=method)
        try:
            with urlopen(request) as response:
                return Answer(response.status, response.read())
        except HTTPError as error:
            return Answer(error.code, error.read())


@pytest.fixture
def client():
    return Client()
