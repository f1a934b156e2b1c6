"use strict";
// The live side: lists runs, follows one without reloading, and sends a person's decisions with the token.
(() => {
  const { el, short, duration, css, masthead, showRun, showComparison } = window.flockwise;
  const place = location.pathname,
    page = document.getElementById("page");
  const runName = place.startsWith("/run/") ? decodeURIComponent(place.slice(5)) : null;

  // The token comes behind #, which browsers never send, and is kept for this tab alone.
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("flockwise-token", given);
    history.replaceState(null, "", place + location.search);
  }

  function withToken() {
    const token = sessionStorage.getItem("flockwise-token");
    return token ? { "x-flockwise-token": token } : {};
  }

  // Where looking needs the token, too, a person is asked for it once, and everything starts anew.
  function refused(answer) {
    if (answer.status !== 401) return false;
    sessionStorage.removeItem("flockwise-token");
    if (!document.getElementById("token"))
      askToken(() => location.reload(), "Looking at these runs needs the token.");
    return true;
  }

  async function read(address) {
    const answer = await fetch(address, { headers: { accept: "application/json", ...withToken() } });
    return refused(answer) ? null : answer.json();
  }

  // As EventSource does, which cannot send the token.
  async function listen(address, changed) {
    for (;;) {
      try {
        const answer = await fetch(address, { headers: withToken() });
        if (refused(answer)) return;
        say("");
        const stream = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let heard = "";
        for (let part = await stream.read(); !part.done; part = await stream.read()) {
          const told = (heard + part.value).split("\n\n");
          heard = told.pop();
          if (told.some((one) => one.startsWith("event: changed"))) changed();
        }
      } catch {
        // told below, and tried again
      }
      say("Connection lost; trying again.");
      await new Promise((wake) => setTimeout(wake, 1000));
    }
  }

  // Fetches again whenever the server says that something changed; one fetch at a time, the last word wins.
  function follow(address, show) {
    let busy = false,
      again = false;
    const refresh = async () => {
      if (busy) {
        again = true;
        return;
      }
      busy = true;
      try {
        const found = await read(address);
        if (found) show(found);
      } catch (problem) {
        say(`The dashboard does not answer: ${problem.message}`);
      }
      busy = false;
      if (!document.querySelector(".cards")) document.documentElement.dataset.ready = "yes";
      if (again) {
        again = false;
        refresh();
      }
    };
    listen(`/api/changes${runName === null ? "" : `?run=${encodeURIComponent(runName)}`}`, refresh);
  }

  const message = el("p", { class: "problems", role: "status", hidden: true, id: "message" });
  page.before(message);
  function say(text) {
    message.textContent = text;
    message.hidden = !text;
  }

  function spark(values) {
    const canvas = el("canvas", {
        class: "spark",
        width: 220,
        height: 52,
        role: "img",
        "aria-label": "score over rounds",
      }),
      pen = canvas.getContext("2d");
    const seen = values.map((value, i) => [i, value]).filter((point) => point[1] !== null);
    pen.strokeStyle = css("accent");
    pen.lineWidth = 3;
    seen.forEach(([i, value], at) => {
      const x = 3 + (i / Math.max(values.length - 1, 1)) * 214,
        y = 49 - value * 46;
      if (at) pen.lineTo(x, y);
      else pen.moveTo(x, y);
    });
    pen.stroke();
    return canvas;
  }

  const chosen = new Set();
  function showRuns({ runs }) {
    const going = runs.filter((run) => run.state === "running").length;
    masthead(
      "Flockwise",
      null,
      `${runs.length} ${runs.length === 1 ? "run" : "runs"}, ${going} running.`,
      [],
    );
    const compare = el(
      "button",
      {
        type: "button",
        disabled: chosen.size < 2,
        onclick: () => {
          location.href = `/compare?${[...chosen].map((id) => `run=${encodeURIComponent(id)}`).join("&")}`;
        },
      },
      "Compare the chosen",
    );
    const plainly = runs.every((run) => run.error || run.scored === "accuracy");
    const rows = runs.map((run) => {
      const box = el("input", {
        type: "checkbox",
        "aria-label": `Choose ${run.name}`,
        checked: chosen.has(run.id),
        disabled: Boolean(run.error),
      });
      box.addEventListener("change", () => {
        if (box.checked) chosen.add(run.id);
        else chosen.delete(run.id);
        compare.disabled = chosen.size < 2;
      });
      const state = el("span", { class: `pill ${run.state.replace(/[^a-z]/g, "")}` }, run.state);
      if (run.error)
        return el(
          "tr",
          {},
          el("td", {}, box),
          el("td", {}, run.id),
          el("td", {}, state),
          el("td", { colspan: 7 }, run.error),
        );
      return el(
        "tr",
        {},
        el("td", {}, box),
        el(
          "td",
          { class: "name" },
          el("a", { href: `/run/${encodeURIComponent(run.id)}` }, run.name),
          ...(run.id === run.name ? [] : [el("br", {}), el("small", { class: "note" }, run.id)]),
          ...(run.parent ? [el("br", {}), el("small", { class: "note" }, `from ${run.parent}`)] : []),
        ),
        el("td", {}, state),
        el("td", {}, run.strategy),
        el(
          "td",
          { class: "figure" },
          run.planned ? `${short(run.rounds)} of ${short(run.planned)}` : short(run.rounds),
        ),
        el("td", { class: "figure" }, plainly ? short(run.score) : `${run.scored} ${short(run.score)}`),
        el("td", {}, spark(run.curve)),
        el("td", { class: "figure" }, short(run.flocks)),
        el("td", { class: "figure" }, short(run.apart)),
        el("td", { class: "figure" }, duration(run.seconds)),
      );
    });
    const titles = [
      ["", 0],
      ["run", 0],
      ["state", 0],
      ["strategy", 0],
      ["round", 1],
      [plainly ? "accuracy" : "score", 1],
      ["", 0],
      ["flocks", 1],
      ["set apart", 1],
      ["time", 1],
    ];
    page.replaceChildren(
      el(
        "section",
        { class: "card wide" },
        el("div", { class: "controls" }, compare),
        runs.length
          ? el(
              "div",
              { class: "scroll" },
              el(
                "table",
                { class: "runs", id: "runs" },
                el(
                  "thead",
                  {},
                  el(
                    "tr",
                    {},
                    ...titles.map(([title, figure]) =>
                      el("th", { scope: "col", class: figure ? "figure" : undefined }, title),
                    ),
                  ),
                ),
                el("tbody", {}, ...rows),
              ),
            )
          : el("p", { class: "empty" }, "No runs here yet. Start one with `flockwise run`, and it appears."),
      ),
    );
    document.querySelector("nav")?.remove();
  }

  function back() {
    return el("a", { href: "/" }, "all runs");
  }

  async function decide(action, client, button) {
    const token = sessionStorage.getItem("flockwise-token");
    if (!token) {
      askToken(() => decide(action, client, button));
      return;
    }
    button.disabled = true;
    const answer = await fetch(`/api/runs/${encodeURIComponent(runName)}/requests`, {
      method: "POST",
      body: JSON.stringify({ action, client }),
      headers: { "content-type": "application/json", "x-flockwise-token": token },
    }).catch((problem) => ({ ok: false, json: async () => ({ error: problem.message }) }));
    if (answer.ok) {
      button.textContent = "asked, takes effect next round";
      return;
    }
    button.disabled = false;
    if (answer.status === 403) sessionStorage.removeItem("flockwise-token");
    say((await answer.json().catch(() => ({}))).error || "The request was refused.");
  }

  function askToken(
    then,
    why = "Decisions need the token that was given or printed when the dashboard was started.",
  ) {
    const field = el("input", {
      type: "password",
      "aria-label": "Token",
      autocomplete: "off",
      required: "required",
    });
    const dialog = el(
      "dialog",
      { id: "token", "aria-label": "Token" },
      el("p", {}, why),
      el("label", {}, "Token ", field),
      " ",
      el(
        "button",
        {
          type: "button",
          onclick: () => {
            if (!field.value) return;
            sessionStorage.setItem("flockwise-token", field.value.trim());
            dialog.close();
            then();
          },
        },
        "Use it",
      ),
      " ",
      el("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
    );
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  const WORDS = { release: "Release", confirm: "Confirm hostile", quarantine: "Set apart" };
  function actions(run, client, where) {
    if (run.state === "finished") return [];
    const waiting = (run.pending || []).find((wish) => wish.client === client);
    if (waiting)
      return [el("span", { class: "pill" }, `${WORDS[waiting.action].toLowerCase()}: at the next round`)];
    const wanted = where === -2 ? ["release", "confirm"] : where === -3 ? ["release"] : ["quarantine"];
    return wanted.map((action) => {
      const button = el(
        "button",
        {
          type: "button",
          class: "act",
          "data-action": action,
          onclick: () => decide(action, client, button),
        },
        WORDS[action],
      );
      return button;
    });
  }

  if (runName !== null) {
    window.flockwise.actions = actions;
    window.flockwise.before = [back()];
    follow(`/api/runs/${encodeURIComponent(runName)}`, (shown) => {
      say(
        shown.error && document.querySelector(".cards") ? `This run cannot be read now: ${shown.error}` : "",
      );
      if (shown.run) {
        document.title = `${shown.run.name} · Flockwise`;
        document.documentElement.dataset.round = String(shown.run.rounds.at(-1) ?? 0);
        showRun(shown.run);
      } else if (!document.querySelector("h1")) masthead(runName, "unreadable", shown.error || "", []);
    });
  } else if (place === "/compare") {
    window.flockwise.before = [back()];
    const address = `/api/compare${location.search}`;
    follow(address, (shown) => {
      say(shown.error || "");
      if (shown.comparison) showComparison(shown.comparison);
    });
  } else {
    follow("/api/runs", showRuns);
  }
})();
