// What happened, in order, by kind.

const eventsFigure = {
  id: "events",
  title: "Events",
  wide: true,
  long: true,
  noImage: true,
  has: (run) => run.events.total > 0,
  note(run) {
    const { total, items } = run.events;
    const listed = items.length < total ? `; the ${short(items.length)} most telling are listed` : "";
    return `${short(total)} on record${listed}.`;
  },
  csv: (run) => [
    ["round", "kind", "client", "name", "message"],
    ...run.events.items.map((event) => [
      event.round,
      event.kind,
      event.client,
      event.client === null ? "" : numberName(run, event.client),
      event.message,
    ]),
  ],
  controls(card) {
    card.state = { kinds: new Set(), shown: PAGE };
    card.kinds = el("span", { class: "controls", role: "group", "aria-label": "Kinds of event" });
    card.controls.append(card.kinds);
  },
  draw(card, run) {
    const { kinds, shown } = card.state;
    const focused = document.activeElement?.dataset?.kind;
    card.kinds.replaceChildren(
      ...Object.entries(run.events.counts).map(([kind, count]) =>
        el(
          "button",
          {
            type: "button",
            "data-kind": kind,
            "aria-pressed": String(kinds.has(kind)),
            onclick: () => {
              if (!kinds.delete(kind)) kinds.add(kind);
              card.state.shown = PAGE;
              redraw(card);
            },
          },
          dot(eventColour(kind)),
          ` ${EVENT_WORDS[kind] || kind} ${short(count)}`,
        ),
      ),
    );
    if (focused) [...card.kinds.children].find((button) => button.dataset.kind === focused)?.focus();
    const found = run.events.items.filter((event) => !kinds.size || kinds.has(event.kind)).reverse();
    const rows = found.slice(0, shown).map((event) =>
      el(
        "tr",
        {},
        el("td", { class: "figure" }, event.round),
        el("td", {}, dot(eventColour(event.kind)), ` ${EVENT_WORDS[event.kind] || event.kind}`),
        el(
          "td",
          {},
          event.client === null
            ? ""
            : el(
                "button",
                {
                  class: "link",
                  type: "button",
                  disabled: clientOf(run, event.client) < 0 || undefined,
                  onclick: () => openClient(run, clientOf(run, event.client)),
                },
                numberName(run, event.client),
              ),
        ),
        el("td", {}, event.message, eventEvidence(event)),
      ),
    );
    const head = ["round", "what", "client", "in words"].map((title, i) => heading(title, !i));
    card.box.replaceChildren(scrolling("Events", head, rows), ...showMore(card, found.length - shown));
  },
};

// The evidence an event carries, as `name value` pairs.
function eventEvidence(event) {
  const words = (value) =>
    Array.isArray(value)
      ? value.length > 12
        ? `${value
            .slice(0, 12)
            .map((v) => short(v))
            .join(", ")} … (${value.length})`
        : value.map((v) => short(v)).join(", ")
      : value !== null && typeof value === "object"
        ? Object.entries(value)
            .map(([key, v]) => `${key}: ${short(v)}`)
            .join(", ")
        : short(value);
  const parts = Object.entries(event.detail)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key.replaceAll("_", " ")} ${words(value)}`);
  return parts.length ? el("small", { class: "note" }, ` (${parts.join("; ")})`) : "";
}
