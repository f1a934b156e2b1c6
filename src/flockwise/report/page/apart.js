// Who is set apart now, since when and why; on the live page also what to do about it.

function apartRows(run) {
  return lastPlaces(run)
    .map((place, client) => ({ place, client }))
    .filter((one) => one.place <= QUARANTINED)
    .map((one) => {
      const steps = history(run, one.client),
        first = steps.findLast(
          (step, i) => step.place <= QUARANTINED && (i === 0 || steps[i - 1].place > QUARANTINED),
        );
      const why = clientEvents(run, one.client).findLast((event) => event.kind === "quarantine");
      return { ...one, since: first?.round ?? null, why: why ? why.message : "" };
    });
}

const apartFigure = {
  id: "apart",
  title: "Clients set apart",
  wide: true,
  long: true,
  noImage: true,
  has: (run) => lastPlaces(run).some((place) => place <= QUARANTINED),
  note: () => "Their updates are not used. A person can let a client back in, or confirm that it is hostile.",
  csv: (run) => [
    ["client", "name", "state", "since round", "why"],
    ...apartRows(run).map((row) => [
      row.client,
      clientName(run, row.client),
      placeName(row.place),
      row.since,
      row.why,
    ]),
  ],
  draw(card, run) {
    const titles = ["client", "state", "since round", "why", ...(window.flockwise.actions ? ["decide"] : [])];
    const rows = apartRows(run)
      .slice(0, 500)
      .map((row) =>
        el(
          "tr",
          {},
          el(
            "td",
            { class: "name" },
            el(
              "button",
              { class: "link", type: "button", onclick: () => openClient(run, row.client) },
              clientName(run, row.client),
            ),
          ),
          el("td", { class: "place" }, dot(placeColour(row.place)), ` ${placeName(row.place)}`),
          el("td", { class: "figure" }, short(row.since)),
          el("td", { class: "why" }, row.why),
          ...(window.flockwise.actions
            ? [el("td", { class: "place" }, ...window.flockwise.actions(run, row.client, row.place))]
            : []),
        ),
      );
    const head = titles.map((title) => heading(title, title === "since round"));
    card.box.replaceChildren(scrolling("Clients set apart", head, rows));
  },
};
