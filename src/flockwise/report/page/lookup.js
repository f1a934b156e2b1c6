// Very many clients: how many the pictures show, and a line on any one of them by its number.

function lookupValue(run, name, client) {
  const column = run.lookup[name];
  return column ? unpack(column)[client] : undefined;
}

function lookupWords(run, client) {
  const place = lookupValue(run, "place", client),
    truth = lookupValue(run, "truth", client) ?? 0,
    times = lookupValue(run, "trained", client) ?? 0;
  const parts = [
    `client ${client}: ${placeName((place ?? UNPLACED - CONFIRMED) + CONFIRMED)}`,
    `trained in ${short(times)} of ${short(run.rounds.length)} rounds`,
  ];
  if (truth) parts.push(`true group ${truth - 1}`);
  if (lookupValue(run, "attacker", client)) parts.push("one of the simulated attackers");
  return parts.join(", ");
}

const lookupFigure = {
  id: "lookup",
  title: "Any client",
  wide: true,
  noImage: true,
  has: (run) => Boolean(run.lookup),
  note: (run) =>
    `${short(run.headline.clients)} clients. Pictures of single clients show ${short(clientCount(run))} of ` +
    "them; sizes of flocks and the flow between them count all.",
  controls(card) {
    card.number = el("input", {
      type: "number",
      min: 0,
      step: 1,
      placeholder: "0",
      "aria-label": "Number of a client",
    });
    card.number.addEventListener("input", () => redraw(card));
    card.controls.append(el("label", {}, "Number", card.number));
  },
  draw(card, run) {
    const asked = card.number.value === "" ? 0 : Number(card.number.value);
    const there = Number.isInteger(asked) && asked >= 0 && asked < run.headline.clients;
    const words = there
      ? lookupWords(run, asked)
      : `There are clients 0 to ${short(run.headline.clients - 1)}.`;
    card.box.replaceChildren(el("p", { class: "note", "aria-live": "polite" }, words));
  },
};
