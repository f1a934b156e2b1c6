// The table of clients: search, sort, and a click for more.

const PAGE = 150;

function clientRows(run) {
  const places = lastPlaces(run),
    scores = lastScores(run),
    times = run.trained ? run.trained.times : [];
  const moves = moveCounts(run);
  return places.map((place, i) => ({
    client: i,
    name: clientName(run, i),
    place,
    placeName: placeName(place),
    truth: run.clients.truth?.[i] ?? null,
    attacker: run.clients.attacker?.[i] ? "attacker" : "",
    score: scores[i],
    moves: moves[i],
    trained: times[i] ?? null,
    samples: run.clients.train?.[i] ?? null,
    address: run.clients.address?.[i] ?? null,
    hour: run.clients.hour?.[i] ?? null,
    user: run.clients.user?.[i] ?? null,
    ...Object.fromEntries(notesOf(run).map((note, n) => [`about${n}`, note.values[i] ?? null])),
  }));
}

function moveCounts(run) {
  const count = clientCount(run),
    moves = new Array(count).fill(0),
    codes = run.places ? unpack(run.places.codes) : [];
  for (let at = count; at < codes.length; at++) if (codes[at] !== codes[at - count]) moves[at % count]++;
  return moves;
}

// What was told of clients beside their names: places, kinds, anything.
function notesOf(run) {
  return run.clients.about || [];
}

function columnsOf(run, rows) {
  const has = (key) => rows.some((row) => row[key] !== null && row[key] !== "");
  return [
    ["client", "id", true],
    ["name", "client"],
    ["placeName", "flock"],
    ["truth", "true group", true],
    ["attacker", "attacker"],
    ["score", run.score.title, true],
    ["moves", "moves", true],
    ["trained", "rounds trained", true],
    ["samples", "samples", true],
    ["address", "address"],
    ["hour", "hour", true],
    ["user", "user", true],
    ...notesOf(run).map((note, n) => [
      `about${n}`,
      note.key,
      note.values.every((v) => typeof v !== "string"),
    ]),
  ].filter(([key]) => ["client", "name"].includes(key) || has(key));
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === "") return 1;
  if (b === null || b === "") return -1;
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });
}

const clientsFigure = {
  id: "clients",
  title: "Clients",
  wide: true,
  long: true,
  noImage: true,
  has: (run) => clientCount(run) > 0,
  note: () => "Click a name for the client's history in words.",
  csv(run) {
    const rows = clientRows(run),
      columns = columnsOf(run, rows);
    return [columns.map(([, words]) => words), ...rows.map((row) => columns.map(([key]) => row[key]))];
  },
  controls(card) {
    card.state = { sort: "client", down: false, text: "", shown: PAGE };
    const search = el("input", {
      type: "search",
      placeholder: "name, flock 2, set apart …",
      "aria-label": "Search clients",
      maxlength: 80,
    });
    search.addEventListener("input", () => {
      card.state.text = search.value.trim().toLowerCase();
      card.state.shown = PAGE;
      redraw(card);
    });
    card.count = el("output", { "aria-live": "polite" });
    card.controls.append(el("label", {}, "Search", search), card.count);
  },
  draw(card, run) {
    const all = clientRows(run),
      { sort, down, text, shown } = card.state,
      columns = columnsOf(run, all);
    const words = (row) =>
      [
        row.name,
        row.placeName,
        row.attacker,
        row.address ?? "",
        `#${clientNumber(run, row.client)} group ${row.truth ?? ""}`,
        ...notesOf(run).map((_, n) => String(row[`about${n}`] ?? "")),
      ]
        .join(" ")
        .toLowerCase();
    const found = text ? all.filter((row) => words(row).includes(text)) : all;
    found.sort(
      (a, b) =>
        compare(a[sort], b[sort]) * (down && a[sort] !== null && b[sort] !== null ? -1 : 1) ||
        a.client - b.client,
    );
    card.count.textContent = `${short(found.length)} of ${short(all.length)}`;
    const head = columns.map(([key, title, figure]) =>
      el(
        "th",
        {
          class: figure ? "figure" : undefined,
          scope: "col",
          "aria-sort": sort === key ? (down ? "descending" : "ascending") : "none",
        },
        el(
          "button",
          {
            type: "button",
            onclick: () => {
              card.state.down = sort === key ? !down : ["score", "moves", "trained", "samples"].includes(key);
              card.state.sort = key;
              redraw(card);
              card.box.querySelector(`[data-key=${key}]`)?.focus();
            },
            "data-key": key,
          },
          title,
        ),
      ),
    );
    const rows = found
      .slice(0, shown)
      .map((row) => el("tr", {}, ...columns.map(([key, , figure]) => clientCell(run, row, key, figure))));
    const list = scrolling("Clients", head, rows);
    const scrolled = card.box.querySelector(".scroll")?.scrollTop || 0;
    card.box.replaceChildren(
      list,
      ...showMore(card, found.length - shown),
      ...(found.length ? [] : [el("p", { class: "empty" }, "No client fits the search.")]),
    );
    list.scrollTop = scrolled;
  },
};

function clientCell(run, row, key, figure) {
  if (key === "name")
    return el(
      "td",
      { class: "name" },
      el("button", { class: "link", type: "button", onclick: () => openClient(run, row.client) }, row.name),
    );
  if (key === "placeName")
    return el("td", { class: "place" }, dot(placeColour(row.place)), ` ${row.placeName}`);
  return el(
    "td",
    { class: figure ? "figure" : undefined },
    key === "user" || key === "client" || key.startsWith("about")
      ? String((key === "client" ? clientNumber(run, row.client) : row[key]) ?? "–")
      : short(row[key], key === "hour" ? 2 : 3),
  );
}
