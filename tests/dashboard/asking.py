"""A plain HTTP client, which can also send what browsers never would."""

import http.client
import json
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit


@dataclass
class Answer:
    status_code: int
    headers: http.client.HTTPMessage
    content: bytes

    def json(self):
        return json.loads(self.content)


@dataclass
class Client:
    url: str

    def request(self, method, path, headers=None, content=None, params=None, **json_body):
        headers = dict(headers or {})
        if "json" in json_body:
            content = json.dumps(json_body["json"]).encode()
            headers.setdefault("content-type", "application/json")
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
        try:
            target = quote(path, safe="/%?=&") + (f"?{urlencode(params, doseq=True)}" if params else "")
            connection.request(method, target, body=content, headers=headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, **more):
        return self.request("POST", path, **more)
