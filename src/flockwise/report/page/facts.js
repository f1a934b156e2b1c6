// Every number on record: the telling ones in charts of their own, all others in small ones.

// NUMBERS comes from the catalogue in numbers.py: title, meaning, which way is better.
function factTitle(name) {
  return NUMBERS[name]?.title || name.replaceAll("_", " ");
}
function factMeaning(name) {
  return NUMBERS[name]?.meaning || "";
}
const QUALITY = ["ari", "purity", "modularity", "silhouette"];
const DETECTION = ["detection_precision", "detection_recall"];
const OF_SCORE = ["", "_worst", "_p10", "_p90"];
const TAKEN = ["alpha_cross", "alpha_threshold", "feature", ...QUALITY, ...DETECTION];

function factLines(run, names) {
  return names
    .filter((name) => hasNumbers(run.facts[name]))
    .map((name, i) =>
      line(factTitle(name), run.rounds, run.facts[name], flockColour(i), {
        lineStyle: { color: flockColour(i), width: 2, type: ["solid", "dashed", "dotted"][i % 3] },
      }),
    );
}

function factFigure(id, title, note, names, range) {
  return {
    id,
    title,
    stretch: true,
    note: () => note,
    has: (run) => names.some((name) => hasNumbers(run.facts[name])),
    csv: (run) => [
      ["round", ...names.filter((n) => run.facts[n])],
      ...run.rounds.map((round, i) => [
        round,
        ...names.filter((n) => run.facts[n]).map((n) => run.facts[n][i]),
      ]),
    ],
    draw(card, run) {
      const series = factLines(run, names);
      if (series.length)
        series[0].markLine = {
          symbol: "none",
          silent: true,
          label: { show: false },
          data: turningLines(run),
        };
      plot(
        card,
        {
          legend: legend(),
          grid: { left: 52, right: 20, top: 36, bottom: 44 },
          xAxis: roundAxis(run.rounds),
          yAxis: axis(range || { scale: true }),
          tooltip: tip({ trigger: "axis", formatter: axisTip }),
          series,
        },
        flexible(SMALL() ? 280 : 360),
      );
    },
  };
}

const alphaFigure = {
  ...factFigure(
    "alpha",
    "How close flocks are to a split",
    "alpha_cross is the largest similarity across the best cut of a flock; " +
      "below the threshold (dashed) the flock is split.",
    ["alpha_cross", "alpha_threshold"],
  ),
  has: (run) => hasNumbers(run.facts.alpha_cross),
};
const qualityFigure = factFigure(
  "quality",
  "How good the flocks are",
  "ARI and purity compare with the true groups where they are known; " +
    "modularity and silhouette need no truth.",
  QUALITY,
  { max: 1 },
);
const detectionFigure = factFigure(
  "detection",
  "How well attackers are found",
  "Known because the attackers were simulated.",
  DETECTION,
  { min: 0, max: 1 },
);

function otherFacts(run) {
  const taken = [...TAKEN, ...OF_SCORE.map((suffix) => run.score.name + suffix)];
  return Object.keys(run.facts)
    .filter((name) => !taken.includes(name) && !/^(sse|groups)_/.test(name) && hasNumbers(run.facts[name]))
    .slice(0, 40);
}

const othersFigure = {
  id: "others",
  title: "All other numbers",
  wide: true,
  has: (run) => otherFacts(run).length > 0,
  csv: accuracyFigure.csv,
  draw(card, run) {
    const names = [...otherFacts(run), "seconds a round"],
      across = onPaper() ? 3 : SMALL() ? 1 : window.innerWidth < 1080 ? 2 : 4,
      down = Math.ceil(names.length / across),
      cell = 132;
    const grid = [],
      xAxis = [],
      yAxis = [],
      series = [],
      title = [];
    names.forEach((name, i) => {
      const column = i % across,
        row = Math.floor(i / across),
        room = [13, 8, 6, 4][across - 1], // for the numbers at the axis
        left = `${(column / across) * 100 + room}%`,
        width = `${100 / across - room - (across > 1 ? 1 : 3)}%`;
      grid.push({ left, width, top: row * cell + 30, height: cell - 56 });
      xAxis.push(
        roundAxis(run.rounds, {
          gridIndex: i,
          name: "",
          axisLabel: { color: css("faint"), fontSize: 10 },
          splitNumber: 3,
        }),
      );
      yAxis.push(
        axis({ gridIndex: i, scale: true, splitNumber: 2, axisLabel: { color: css("faint"), fontSize: 10 } }),
      );
      title.push({
        text: factTitle(name),
        left,
        top: row * cell + 4,
        padding: 0,
        textStyle: { fontSize: 12, fontWeight: 600, color: css("soft") },
      });
      series.push(
        line(name, run.rounds, run.facts[name] || run.seconds, flockColour(0), {
          xAxisIndex: i,
          yAxisIndex: i,
          symbolSize: 4,
          lineStyle: { width: 1.5, color: flockColour(0) },
        }),
      );
    });
    plot(
      card,
      { title, grid, xAxis, yAxis, series, tooltip: tip({ trigger: "axis", formatter: axisTip }) },
      down * cell + 8,
    );
  },
};
