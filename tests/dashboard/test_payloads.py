"""Two hundred texts that want to be run as scripts, in every text that a run has: the report and the dashboard show them."""

import json
from pathlib import Path

import fake_run
import numpy as np
import pytest
from browsing import opened

pytest.importorskip("starlette", reason="needs flockwise[dashboard]")

from tests.conftest import Cases
from tests.reliability.made import change

from flockwise.dashboard import start
from flockwise.messages import Event
from flockwise.report import write_report
from flockwise.store import reopen_run
from flockwise.store.policy import CheckpointPolicy

SHAPES = [
    *r"""
<script>alert(§)</script>
</script><script>alert(§)</script>
<img src=x onerror=alert(§)>
"><svg onload=alert(§)>
'><body onload=alert(§)>
javascript:alert(§)
<a href=javascript:alert(§)>x</a>
data:text/html,<script>alert(§)</script>
{{constructor.constructor('alert(§)')()}}
${alert(§)}
<!--<script>alert(§)//-->
]]><script>alert(§)</script>
<iframe srcdoc='<script>alert(§)</script>'></iframe>
<link rel=stylesheet href=//evil.example/§.css>
<style>@import '//evil.example/§';</style>
<img src=//evil.example/§.png>
<base href=//evil.example/§/>
<object data=//evil.example/§></object>
<meta http-equiv=refresh content='0;url=//evil.example/§'>
<form action=//evil.example/§><input autofocus></form>
<input autofocus onfocus=alert(§)>
<details open ontoggle=alert(§)>
<video><source onerror=alert(§)></video>
<noscript><p title="</noscript><img src=x onerror=alert(§)>">
<math><mtext><script>alert(§)</script></mtext></math>
\u003cscript\u003ealert(§)\u003c/script\u003e
&lt;script&gt;alert(§)&lt;/script&gt;
%3Cscript%3Ealert(§)%3C/script%3E
__proto__
constructor
{a|<b>}
url(//evil.example/§)
<svg><use href=//evil.example/§#x></use></svg>
""".strip().splitlines(),
    "\u2028alert(§)\u2029",
]
WAYS = (str, str.upper, '"{}'.format, "'`{}".format, "{0}{0}".format, "{}//".format)
PAYLOADS = [way(shape.replace("§", str(number))) for way in WAYS for number, shape in enumerate(SHAPES)]
AT_ONCE = 20  # payloads in one run
FIELDS = 14  # texts that each of them is put into, counted below


def hostile_run(path: Path, payloads: list[str]) -> Path:
    """A run with these in the names, addresses and notes of clients, in events, facts, config and what is said about it."""
    whole = (payloads * AT_ONCE)[:AT_ONCE]
    fake_run.flic(path, clients=AT_ONCE, rounds=16, names=whole)
    with reopen_run(path, CheckpointPolicy(every=10**9)) as writer:
        writer.commit(
            17, 0.5, {"accuracy": 0.5, **{text[:60]: 1.0 for text in payloads}},
            {"flock": np.arange(AT_ONCE) % 4, "apart": np.zeros(AT_ONCE, np.int8)},
            [
                event
                for number, text in enumerate(payloads)
                for event in (
                    Event("rejected", f"reply rejected: {text}", number % AT_ONCE),
                    Event("quarantine", text, None, {"clients": [number % AT_ONCE], text: text}),
                    Event(text, text, number % AT_ONCE, {"flock": text, "from": text, "to": text}),
                )
            ],
            {"round": np.array([17])},
        )  # fmt: skip
        writer.about(state="failed", error=payloads[0], goal="17")
    for number, text in enumerate(whole):
        quoted = text.replace("'", "''")
        change(path, f"UPDATE clients SET address = '{quoted}' WHERE client = {number}")
    settings = {f"x{number}": text for number, text in enumerate(payloads)}
    extra = "\n[attack.more]\n" + "".join(f"{key} = {json.dumps(text)}\n" for key, text in settings.items())
    (path / "config.toml").write_text((path / "config.toml").read_text() + extra)
    told = json.loads((path / "environment.json").read_text())
    (path / "environment.json").write_text(json.dumps({**told, **settings, "command": payloads[0]}))
    return path


def inert(page) -> None:
    """Nothing that only a payload could have made is in the page; what goes wrong otherwise `opened` notices."""
    made = "img, iframe, object, embed, base, video, math, details[ontoggle], [onerror], [onload], [onfocus], form[action]"
    assert page.locator(made).count() == 0
    assert page.locator("link[href*='evil'], script[src*='evil'], a[href^='javascript']").count() == 0


def test_texts_that_want_to_be_scripts_stay_texts(chromium, tmp_path: Path, cases: Cases) -> None:
    number = cases.many(10, len(PAYLOADS))
    cases.count((FIELDS - 1) * number)
    chosen = PAYLOADS[:: max(len(PAYLOADS) // number, 1)][:number]
    for start_at in range(0, number, AT_ONCE):
        runs = tmp_path / str(start_at)
        run = hostile_run(runs / "run", chosen[start_at : start_at + AT_ONCE])
        with opened(chromium, write_report([run], tmp_path / f"{start_at}.html").as_uri()) as page:
            inert(page)
            page.locator("#clients tbody button.link").first.click()
            inert(page)
        dashboard = start(runs)
        try:
            with opened(chromium, dashboard.link, own=dashboard.url) as page:
                page.wait_for_selector("#runs tbody tr")
                inert(page)
                page.locator("#runs tbody a").first.click()
                page.wait_for_selector("#clients tbody tr")
                inert(page)
        finally:
            dashboard.stop()
