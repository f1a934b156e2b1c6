// Several runs: curves with bands over seeds, attack by rule, final numbers, what differs.

// Two-sided 95 % points of Student's t for 1, 2, ... degrees of freedom.
const STUDENT = [12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2, 2.18, 2.16, 2.14, 2.13];

function seedGroups(comparison) {
  const groups = new Map();
  // A run that was done twice with one seed counts once.
  for (const run of comparison.runs.filter((each) => each.counts))
    groups.set(run.group, [...(groups.get(run.group) || []), run]);
  return [...groups].map(([name, runs], i) => ({ name, runs, colour: flockColour(i), index: i }));
}

function meanAndHalf(values) {
  const n = values.length,
    mean = values.reduce((a, b) => a + b, 0) / n;
  if (n < 2) return [mean, null];
  const spread = Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (n - 1));
  return [mean, ((STUDENT[n - 2] || 2) * spread) / Math.sqrt(n)];
}

// Which way a number is better: as the catalogue has it, or a task of somebody's own.
function betterOf(c, fact) {
  const own = c.scores.find((score) => fact === score.name || fact.startsWith(`${score.name}_`));
  return NUMBERS[fact]?.better || (own && (fact.endsWith("_std") ? "lower" : own.better));
}

function groupCurve(group, fact) {
  const at = new Map();
  for (const run of group.runs)
    run.rounds.forEach((round, i) => {
      const value = (run.facts[fact] || [])[i];
      if (value !== null && value !== undefined) at.set(round, [...(at.get(round) || []), value]);
    });
  const rounds = [...at.keys()].sort((a, b) => a - b),
    points = rounds.map((round) => meanAndHalf(at.get(round)));
  // An interval of few seeds can reach beyond what the number can be.
  const share = /^((accuracy|f1|auc|exact)(?!_std)|purity|detection)/.test(fact),
    low = share ? (v) => Math.max(v, 0) : (v) => v,
    high = share ? (v) => Math.min(v, 1) : (v) => v;
  return {
    rounds,
    mean: points.map((p) => p[0]),
    low: points.map((p) => (p[1] === null ? null : low(p[0] - p[1]))),
    high: points.map((p) => (p[1] === null ? null : high(p[0] + p[1]))),
  };
}

// More curves than this cannot be told apart: the best at the end keep their colours, the others are thin and grey.
const TOLD_APART = 8;

function bestGroups(c, groups, fact, chosen) {
  if (groups.length <= TOLD_APART + 2) return groups;
  const better = betterOf(c, fact) === "lower" ? -1 : 1,
    last = (group) => groupCurve(group, fact).mean.at(-1) ?? null,
    ranked = groups
      .map((group) => [group, last(group)])
      .filter(([, value]) => value !== null)
      .sort((a, b) => better * (b[1] - a[1]));
  const best = ranked.slice(0, TOLD_APART).map(([group]) => group),
    also = groups.find((group) => group.name === chosen);
  return also && !best.includes(also) ? [...best, also] : best;
}

// How many lines a legend takes: a letter is about seven pixels wide.
function legendRows(card, groups) {
  const width = Math.max((card.box.clientWidth || 800) - 20, 200);
  let rows = 1,
    used = 0;
  for (const { name } of groups) {
    const wide = Math.min(name.length * 7 + 30, width);
    if (used + wide > width) {
      rows += 1;
      used = 0;
    }
    used += wide;
  }
  return rows;
}

const comparedFigure = {
  id: "compared",
  title: "Runs over rounds",
  wide: true,
  has: (c) => c.facts.length > 0,
  note: (c) =>
    (seedGroups(c).some((g) => g.runs.length > 1)
      ? "Mean over seeds; shades are 95 % confidence intervals of the mean. " +
        "Runs that differ only in the seed are one curve."
      : "One curve for each run.") +
    (seedGroups(c).length > TOLD_APART + 2
      ? ` The ${TOLD_APART} that end best are in colour, the others grey; choose one to see it among them.`
      : ""),
  controls(card) {
    const facts = card.data.facts,
      select = el(
        "select",
        { "aria-label": "Which number" },
        ...facts.map((name) => el("option", { value: name, title: factMeaning(name) }, factTitle(name))),
      );
    const compared = card.data.score.name;
    card.state.fact = facts.includes(compared) ? compared : facts[0];
    select.value = card.state.fact;
    select.addEventListener("change", () => {
      card.state.fact = select.value;
      redraw(card);
    });
    card.controls.append(el("label", {}, "Show", select));
    const groups = seedGroups(card.data);
    if (groups.length <= TOLD_APART + 2) return;
    const also = el(
      "select",
      { "aria-label": "Which experiment to see among the others" },
      el("option", { value: "" }, `the best ${TOLD_APART}`),
      ...groups.map((group) => el("option", { value: group.name }, group.name)),
    );
    also.addEventListener("change", () => {
      card.state.chosen = also.value;
      redraw(card);
    });
    card.controls.append(el("label", {}, "In colour", also));
  },
  csv: (c, card) => [
    ["experiment", "run", "seed", "round", card.state.fact],
    ...c.runs.flatMap((run) =>
      run.rounds.map((round, i) => [
        run.group,
        run.id,
        run.seed,
        round,
        (run.facts[card.state.fact] || [])[i],
      ]),
    ),
  ],
  draw(card, c) {
    const groups = seedGroups(c),
      fact = card.state.fact,
      longest = c.runs.reduce((all, run) => (run.rounds.length > all.length ? run.rounds : all), []);
    const ends = [
      Math.min(...c.runs.map((r) => r.rounds[0] ?? 1)),
      Math.max(...c.runs.map((r) => r.rounds[r.rounds.length - 1] ?? 1)),
    ];
    // Of many, those in colour have colours of their own: the first ones are the easiest to tell apart.
    const best = bestGroups(c, groups, fact, card.state.chosen),
      looks = (group) =>
        best === groups
          ? group
          : { ...group, index: best.indexOf(group), colour: flockColour(best.indexOf(group)) };
    const series = groups.flatMap((each) => {
      const curve = groupCurve(each, fact);
      if (!best.includes(each))
        return [
          line(each.name, curve.rounds, curve.mean, css("unplaced"), {
            lineStyle: { color: css("unplaced"), width: 1 },
            silent: true,
            z: 1,
          }),
        ];
      const group = looks(each);
      return [
        line(group.name, curve.rounds, curve.mean, group.colour, {
          lineStyle: {
            color: group.colour,
            width: 2.2,
            type: ["solid", "dashed", "dotted"][Math.floor(group.index / 4) % 3],
          },
        }),
        ...bands(group.name, curve.rounds, curve.low, curve.high, group.colour, 0.15),
      ];
    });
    plot(
      card,
      {
        legend: legend({ data: best.map((g) => g.name), type: "plain" }),
        grid: { left: 52, right: 24, top: 12 + 24 * legendRows(card, best), bottom: 46 },
        xAxis: roundAxis(longest, { min: ends[0], max: ends[1] }),
        yAxis: axis({ scale: true }),
        tooltip: tip({ trigger: "axis", formatter: axisTip }),
        series,
      },
      flexible(SMALL() ? 340 : 420),
    );
  },
};

const heatFigure = {
  id: "heat",
  title: "Accuracy under attack",
  titled: (c) => `${c.score.title[0].toUpperCase()}${c.score.title.slice(1)} under attack`,
  wide: true,
  has: (c) => Boolean(c.heat),
  note: (c) =>
    `${c.score.title} at the end${c.score.better === "lower" ? " (lower is better)" : ""}, mean over runs. ` +
    "Columns are attacks, rows are rules.",
  csv: (c) => [
    ["attack", "rule", c.score.name, "runs"],
    ...c.heat.cells.map(([a, r, value, n]) => [c.heat.attacks[a], c.heat.rules[r], value, n]),
  ],
  draw(card, c) {
    const { attacks, rules, cells, low, high } = c.heat,
      lower = c.score.better === "lower",
      share = (v) => (v - low) / (high - low),
      bright = (v) => (lower ? 1 - share(v) : share(v)) > 0.6,
      shades = lower ? VIRIDIS.slice().reverse() : VIRIDIS;
    plot(
      card,
      {
        grid: { left: SMALL() ? 100 : 170, right: 16, top: 8, bottom: 40 },
        xAxis: axis({
          type: "category",
          data: attacks,
          splitLine: { show: false },
          axisLabel: { interval: 0, color: css("soft"), rotate: SMALL() ? 30 : 0 },
        }),
        yAxis: axis({
          type: "category",
          data: rules,
          inverse: true,
          splitLine: { show: false },
          axisLabel: { color: css("soft"), interval: 0, width: SMALL() ? 90 : 160, overflow: "truncate" },
        }),
        visualMap: { show: false, min: low, max: high, dimension: 2, inRange: { color: shades.map(rgb) } },
        tooltip: tip({
          formatter: ({ value: [attack, rule, score, runs] }) =>
            `${rules[rule]} under ${attacks[attack]}\n${c.score.title} ${short(score)} (${runs} runs)`,
        }),
        series: [
          {
            type: "heatmap",
            itemStyle: { borderColor: css("card"), borderWidth: 2 },
            data: cells.map((cell) => ({ value: cell, label: { color: bright(cell[2]) ? "#111" : "#fff" } })),
            label: { show: true, formatter: (p) => short(p.value[2]) },
          },
        ],
      },
      60 + 44 * rules.length,
    );
  },
};

const finalFigure = {
  id: "final",
  title: "Final numbers",
  wide: true,
  long: true,
  noImage: true,
  has: (c) => c.final.length > 0,
  note: () =>
    "Of the last round on record; mean and 95 % interval where there are several seeds. ★ marks the best of those " +
    "that had the same data and the same attack. `flockwise study` also tests which differences are more than chance.",
  csv: (c) => [
    ["experiment", "run", "seed", "state", "rounds", ...c.final],
    ...c.runs.map((run) => [
      run.group,
      run.id,
      run.seed,
      run.state,
      run.rounds[run.rounds.length - 1],
      ...c.final.map((name) => run.final[name]),
    ]),
  ],
  draw(card, c) {
    const rows = seedGroups(c).map((group) => ({
      group,
      values: c.final.map((name) => {
        const seen = group.runs.map((run) => run.final[name]).filter((v) => v !== undefined && v !== null);
        return seen.length ? meanAndHalf(seen) : null;
      }),
    }));
    // Only methods that met the same data and the same attack are compared with each other.
    const best = (row, i) => {
      const better = betterOf(c, c.final[i]),
        seen = rows
          .filter((other) => other.group.runs[0].setting === row.group.runs[0].setting)
          .map((other) => other.values[i]?.[0])
          .filter((v) => v !== undefined);
      if (!better || better === "neither" || new Set(seen).size < 2) return null;
      return better === "lower" ? Math.min(...seen) : Math.max(...seen);
    };
    const cell = (row) => (value, i) =>
      el(
        "td",
        { class: `figure${value && value[0] === best(row, i) ? " best" : ""}` },
        value ? `${short(value[0])}${value[1] === null ? "" : ` ± ${short(value[1])}`}` : "–",
      );
    const head = [
      heading("experiment"),
      heading("runs", true),
      ...c.final.map((name) => heading(factTitle(name), true, factMeaning(name))),
    ];
    const lines = rows.map((row) =>
      el(
        "tr",
        {},
        el("td", { class: "experiment" }, dot(row.group.colour), ` ${row.group.name}`),
        el("td", { class: "figure" }, row.group.runs.length),
        ...row.values.map(cell(row)),
      ),
    );
    card.box.replaceChildren(scrolling("Final numbers", head, lines));
  },
};

const differencesFigure = {
  id: "differences",
  title: "What differs between the configs",
  wide: true,
  long: true,
  noImage: true,
  has: (c) => c.differences.length > 0,
  csv: (c) => [
    ["field", ...c.runs.map((run) => run.id)],
    ...c.differences.map((one) => [one.key, ...one.values]),
  ],
  draw(card, c) {
    const head = [heading("field"), ...c.runs.map((run) => heading(run.id))];
    const rows = c.differences.map((one) =>
      el("tr", {}, el("th", { scope: "row" }, one.key), ...one.values.map((value) => el("td", {}, value))),
    );
    card.box.replaceChildren(scrolling("Differences", head, rows));
  },
};

function showComparison(comparison) {
  const names = [...new Set(comparison.runs.map((run) => run.name))];
  masthead(`Comparison of ${comparison.runs.length} runs`, null, names.slice(0, 12).join(", "), []);
  showFigures([comparedFigure, heatFigure, finalFigure, differencesFigure], comparison);
  contents();
}
