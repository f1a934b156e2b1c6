// One client's history, in words and one small chart.

const details = { dialog: null, chart: null, client: null };

function history(run, client) {
  const rounds = run.places ? run.places.rounds : [],
    steps = [];
  rounds.forEach((round, row) => {
    const place = placeAt(run, row, client);
    if (!steps.length || steps[steps.length - 1].place !== place) steps.push({ round, place });
  });
  return steps;
}

// How well a client agreed with a flock in the last comparison up to a round.
function agreement(run, client, round, flock) {
  const pages = run.similarity.filter((page) => page.round <= round);
  const page = pages[pages.length - 1] || run.similarity[0];
  if (!page) return null;
  const column = page.agreement.flocks.indexOf(flock);
  const value =
    column < 0 ? null : level(page.agreement.values, client * page.agreement.flocks.length + column);
  return value === null ? null : { value, round: page.round };
}

function agreementWords(run, client, round, flocks) {
  const distance = run.similarity.some((page) => page.kind === "distance");
  const known = flocks
    .filter((flock) => flock >= 0)
    .map((flock) => [flock, agreement(run, client, round, flock)])
    .filter(([, found]) => found);
  if (!known.length) return "";
  const when = known[0][1].round === round ? "" : ` (compared in round ${known[0][1].round})`;
  const each = known.map(([flock, found]) => `with flock ${flock} at ${short(found.value, 2)}`).join(", ");
  return distance
    ? `; its mean distance ${each.replaceAll("with flock", "to flock").replaceAll(" at ", " was ")}${when}`
    : `; its update agreed ${each}${when}`;
}

// What one step from a place to another was, in words.
function stepWords(run, client, before, { round, place }) {
  const agreed = (...flocks) => agreementWords(run, client, round, flocks);
  if (before === null) {
    if (place >= 0) return `started in ${placeName(place)}`;
    return place === UNPLACED ? "started without a flock" : "set apart from the start";
  }
  if (place === QUARANTINED) return `set apart from ${placeName(before)} at round ${round}${agreed(before)}`;
  if (place === CONFIRMED) return `confirmed hostile at round ${round}`;
  if (before <= QUARANTINED) return `let back in at round ${round}, ${placeName(place)}`;
  if (place === UNPLACED) return `left without a flock at round ${round}`;
  if (before === UNPLACED) return `placed in ${placeName(place)} at round ${round}${agreed(place)}`;
  return `moved from flock ${before} to ${place} at round ${round}${agreed(place, before)}`;
}

function story(run, client) {
  const steps = history(run, client);
  const lines = steps.map((step, i) => stepWords(run, client, i ? steps[i - 1].place : null, step));
  if (lines.length > 60) lines.splice(30, lines.length - 60, `… ${lines.length - 60} more moves …`);
  return lines;
}

function clientEvents(run, client) {
  const number = clientNumber(run, client);
  return run.events.items.filter(
    (event) => event.client === number || (event.detail.clients || []).includes(number),
  );
}

function factsOf(run, client) {
  const row = clientRows(run)[client],
    parts = [];
  const tested = row.score === null ? "" : `, ${run.score.title} ${short(row.score)} on its own test data`;
  parts.push(`Now: ${row.placeName}${tested}.`);
  if (row.truth !== null)
    parts.push(
      `Its true group is ${row.truth}${row.attacker ? ", and it is one of the simulated attackers" : ""}.`,
    );
  if (row.samples !== null) {
    const turns = `${short(row.trained)} of ${short(run.rounds.length)} rounds`;
    const trained = row.trained !== null ? ` and trained in ${turns}` : "";
    parts.push(`It holds ${short(row.samples)} training samples${trained}.`);
  }
  const metadata = [
    row.address && `address ${row.address}`,
    row.hour !== null && `hour ${short(row.hour, 2)}`,
    row.user !== null && `user ${row.user}`,
  ].filter(Boolean);
  if (metadata.length) parts.push(`Its reports carry ${metadata.join(", ")}.`);
  const told = notesOf(run)
    .map((note, n) => [note.key, row[`about${n}`]])
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}: ${value}`);
  if (told.length) parts.push(`${told.join("; ")}.`);
  return parts;
}

function openClient(run, client) {
  const first = !details.dialog;
  if (first) {
    details.body = el("div", {});
    details.dialog = el("dialog", { id: "client", "aria-label": "Client" }, details.body);
    details.dialog.addEventListener("close", () => {
      details.chart?.dispose();
      details.chart = null;
      details.client = null;
    });
    details.dialog.addEventListener("click", (event) => {
      if (event.target === details.dialog) details.dialog.close();
    });
    document.body.append(details.dialog);
  }
  details.client = client;
  details.chart?.dispose();
  const place = lastPlaces(run)[client],
    box = el("div", {
      class: "plot",
      role: "img",
      "aria-label": `${run.score.title} of this client over rounds`,
    });
  box.style.height = "210px";
  const happened = clientEvents(run, client).slice(-40);
  details.body.replaceChildren(
    el(
      "div",
      { class: "masthead" },
      dot(placeColour(place)),
      el("h2", {}, clientName(run, client)),
      ...(window.flockwise.actions ? window.flockwise.actions(run, clientNumber(run, client), place) : []),
      el("button", { type: "button", onclick: () => details.dialog.close() }, "Close"),
    ),
    ...factsOf(run, client).map((text) => el("p", { class: "note" }, text)),
    el("h3", {}, "History"),
    el("ol", { class: "history" }, ...story(run, client).map((text) => el("li", {}, text))),
    box,
    ...(happened.length
      ? [
          el("h3", {}, "Events"),
          el(
            "ol",
            {},
            ...happened.map((event) =>
              el(
                "li",
                {},
                `round ${event.round}, ${EVENT_WORDS[event.kind] || event.kind}: ${event.message}`,
              ),
            ),
          ),
        ]
      : []),
  );
  if (!details.dialog.open) details.dialog.showModal();
  details.chart = echarts.init(box, null, { renderer: "canvas" });
  details.chart.setOption(clientOption(run, client));
}

function clientOption(run, client) {
  const rounds = run.scores ? run.scores.rounds : [];
  const own = rounds.map((_, row) => scoreAt(run, row, client));
  const moves = history(run, client)
    .slice(1)
    .map((step) => ({ xAxis: step.round, lineStyle: { color: placeColour(step.place), type: "dashed" } }))
    .slice(-30);
  const mine = line("this client", rounds, own, css("accent"), {
    markLine: { symbol: "none", silent: true, label: { show: false }, data: moves },
  });
  return {
    ...ground(),
    legend: legend(),
    grid: { left: 46, right: 14, top: 32, bottom: 42 },
    xAxis: roundAxis(run.rounds),
    yAxis: axis({ scale: true }),
    tooltip: tip({ trigger: "axis", formatter: axisTip }),
    series: [
      mine,
      line("all clients", run.rounds, scoreFact(run) || [], css("faint"), {
        lineStyle: { width: 1.5, color: css("faint"), type: "dashed" },
      }),
    ],
  };
}
