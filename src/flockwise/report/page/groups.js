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
      table([heading("group"), heading("clients", true), heading(words)], rows),
      el("h3", {}, "Features tried"),
      table([heading("feature"), heading("unlike within groups", true), heading("groups", true)], tried),
    );
  },
};
