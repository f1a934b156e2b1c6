// What was asked for, and on which machine.

function flatText(value) {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

function sectionsOf(config) {
  const own = Object.entries(config).filter(
    ([, value]) => typeof value !== "object" || value === null || Array.isArray(value),
  );
  const nested = Object.entries(config).filter(
    ([, value]) => typeof value === "object" && value !== null && !Array.isArray(value),
  );
  return [["run", own], ...nested.map(([name, section]) => [name, Object.entries(section)])].filter(
    ([, entries]) => entries.length,
  );
}

const configFigure = {
  id: "config",
  title: "Config",
  wide: true,
  long: true,
  noImage: true,
  has: (run) => Object.keys(run.config).length > 0,
  csv: (run) => [
    ["section", "field", "value"],
    ...sectionsOf(run.config).flatMap(([name, entries]) =>
      entries.map(([key, value]) => [name, key, flatText(value)]),
    ),
  ],
  draw(card, run) {
    const listed = [...sectionsOf(run.config), ...sectionsOf({ environment: run.environment })];
    card.box.replaceChildren(
      el(
        "div",
        { class: "sections" },
        ...listed.map(([name, entries]) =>
          el(
            "section",
            {},
            el("h3", {}, name),
            el(
              "table",
              {},
              el(
                "tbody",
                {},
                ...entries.map(([key, value]) =>
                  el("tr", {}, el("td", {}, key), el("td", { class: "value" }, flatText(value))),
                ),
              ),
            ),
          ),
        ),
      ),
    );
  },
};
