// Groups by place, hour or user (Mini-FL): which feature won, and where the boundaries are.

const groupsFigure = {
  id: "groups",
  title: "Groups of clients",
  noImage: true,
  stretch: true,
  has: (run) => Boolean(run.groups),
  note: (run) => `Grouped by ${run.groups.words}: of all features, updates differ least in its groups.`,
  csv: (run) => [
    ["group", "clients", run.groups.words],
    ...run.groups.groups.map((group) => [group.group, group.clients, group.words]),
  ],
  draw(card, run) {
    const { groups, candidates, chosen, words } = run.groups;
    const rows = groups.map((group) =>
      el(
        "tr",
        {},
        el("td", {}, dot(flockColour(group.group)), ` group ${group.group}`),
        el("td", { class: "figure" }, group.clients),
        el("td", {}, group.words),
      ),
    );
    const tried = candidates.map((one) =>
      el(
        "tr",
        {},
        el("td", {}, one.words),
        el("td", { class: `figure${one.feature === chosen ? " best" : ""}` }, short(one.error)),
        el("td", { class: "figure" }, short(one.groups)),
      ),
    );
    card.box.replaceChildren(
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el("tr", {}, el("th", {}, "group"), el("th", { class: "figure" }, "clients"), el("th", {}, words)),
        ),
        el("tbody", {}, ...rows),
      ),
      el("h3", {}, "Features tried"),
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", {}, "feature"),
            el("th", { class: "figure" }, "unlike within groups"),
            el("th", { class: "figure" }, "groups"),
          ),
        ),
        el("tbody", {}, ...tried),
      ),
    );
  },
};
