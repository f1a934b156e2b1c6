// One run: the headline, then the pictures, the telling ones first.

const RUN_FIGURES = [
  accuracyFigure,
  flowFigure,
  stripFigure,
  matrixFigure,
  mapFigure,
  groupsFigure,
  alphaFigure,
  qualityFigure,
  detectionFigure,
  treeFigure,
  apartFigure,
  lookupFigure,
  clientsFigure,
  eventsFigure,
  othersFigure,
  configFigure,
];

// What a number means, by the title it is shown with.
function meaningOf(title) {
  return Object.values(NUMBERS).find((number) => number.title === title)?.meaning;
}

function masthead(title, state, words, numbers) {
  const theme = el(
    "button",
    { type: "button", id: "theme", "aria-label": "Light or dark", onclick: switchTheme },
    "◐ theme",
  );
  const tiles = numbers
    .filter((one) => one[1] !== null && one[1] !== undefined && one[1] !== "–")
    .map(([name, value, note]) =>
      el(
        "div",
        { class: "number", title: meaningOf(name) },
        el("dt", {}, name),
        el("dd", {}, value, note ? el("small", {}, note) : null),
      ),
    );
  document
    .getElementById("top")
    .replaceChildren(
      ...[
        el(
          "div",
          { class: "masthead" },
          ...(window.flockwise.before || []),
          el("h1", {}, title),
          state ? el("span", { class: `pill ${state.replace(/[^a-z]/g, "")}`, id: "state" }, state) : null,
          el("span", { class: "room" }),
          theme,
        ),
        el("p", { class: "story" }, words),
        tiles.length ? el("dl", { class: "numbers" }, ...tiles) : null,
        el("nav", { "aria-label": "On this page" }, el("ul", { class: "contents" })),
      ].filter(Boolean),
    );
}

function contents() {
  const shown = [...document.querySelectorAll(".cards > .card")]
    .filter((root) => !root.hidden)
    .map((root) => cards.get(root.id).figure);
  const links = shown.map((figure) => el("li", {}, el("a", { href: `#${figure.id}` }, figure.title)));
  document.querySelector(".contents").replaceChildren(...links);
}

function headlineNumbers(run) {
  const h = run.headline,
    gain = h.before !== null && h.before !== undefined && h.score !== null ? h.score - h.before : null;
  return [
    [
      run.score.title,
      short(h.score),
      gain === null
        ? "mean over clients"
        : `${gain >= 0 ? "+" : "−"}${short(Math.abs(gain))} since round ${h.turn}`,
    ],
    [
      "worst client",
      short(h.worst),
      `${run.score.better === "lower" ? "highest" : "lowest"} ${run.score.title}`,
    ],
    ["flocks", short(h.flocks), h.turn && h.flocks > 1 ? `first in round ${h.turn}` : ""],
    [
      "ARI",
      h.ari === null ? null : h.ari?.toFixed(2),
      h.purity === null || h.purity === undefined
        ? "agreement with the truth"
        : `purity ${h.purity.toFixed(2)}`,
    ],
    [
      "set apart",
      h.apart || h.attackers ? short(h.apart || 0) : null,
      h.attackers ? `${h.caught} of ${h.attackers} attackers` : "clients",
    ],
    ["clients", short(h.clients), ""],
    ["rounds", short(h.rounds), h.planned && h.planned !== h.rounds ? `of ${short(h.planned)}` : ""],
    ["time", duration(h.seconds), h.timed ? `${duration(h.seconds / h.timed)} a round` : ""],
  ];
}

function showRun(run) {
  masthead(run.name, run.state, run.headline.story, headlineNumbers(run));
  document.querySelector("#page > .problems")?.remove();
  if (run.problems.length)
    document
      .getElementById("page")
      .prepend(
        el(
          "p",
          { class: "problems" },
          `Some parts of this run could not be read: ${run.problems.join("; ")}`,
        ),
      );
  document.querySelector(".waiting")?.remove();
  if (!run.rounds.length)
    document
      .getElementById("page")
      .prepend(el("p", { class: "empty waiting" }, "No round has been closed yet."));
  showFigures(RUN_FIGURES, run);
  contents();
  if (details.dialog?.open) openClient(run, details.client);
}
