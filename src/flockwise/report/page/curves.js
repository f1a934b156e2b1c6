// The score over rounds: everyone, the worst, each flock with its spread, and what happened when.

function band(name, rounds, low, high, colour, opacity) {
  const points = rounds
    .map((round, i) => [round, low[i], high[i]])
    .filter((p) => p[1] !== null && p[2] !== null);
  const shape = {
    type: "custom",
    name,
    silent: true,
    z: 1,
    tooltip: { show: false },
    itemStyle: { color: colour, opacity },
  };
  if (points.length < 2) return { ...shape, data: [], renderItem: () => null };
  // Two points, so that the axis makes room for the whole band; it is drawn once.
  const first = points[0][0],
    ends = [Math.min(...points.map((p) => p[1])), Math.max(...points.map((p) => p[2]))];
  return {
    ...shape,
    data: ends.map((end) => [first, end]),
    encode: { x: 0, y: 1 },
    clip: true,
    renderItem: (params, api) =>
      params.dataIndex
        ? null
        : {
            type: "polygon",
            style: { fill: colour, opacity },
            shape: {
              points: [
                ...points.map((p) => api.coord([p[0], p[2]])),
                ...points
                  .slice()
                  .reverse()
                  .map((p) => api.coord([p[0], p[1]])),
              ],
            },
          },
  };
}

// A band only where flocks are told apart: gaps between its stretches stay open.
function bands(name, rounds, low, high, colour, opacity) {
  const parts = [];
  let from = null;
  for (let i = 0; i <= rounds.length; i++) {
    const there = i < rounds.length && low[i] !== null && high[i] !== null;
    if (there && from === null) from = i;
    if (!there && from !== null) {
      parts.push(band(name, rounds.slice(from, i), low.slice(from, i), high.slice(from, i), colour, opacity));
      from = null;
    }
  }
  return parts.slice(0, 40);
}

function line(name, rounds, values, colour, more) {
  const points = rounds.map((round, i) => [round, values[i]]).filter((point) => point[1] !== null);
  const sparse = points.length < 2 || points.length < rounds.length / 3;
  return {
    type: "line",
    name,
    data: points,
    showSymbol: sparse,
    symbolSize: 6,
    z: 3,
    itemStyle: { color: colour },
    lineStyle: { color: colour, width: 2 },
    emphasis: { disabled: true },
    ...more,
  };
}

function flockSeries(run) {
  const { rounds, curves } = run.flocks || { rounds: [], curves: [] };
  const alive = rounds.map((_, i) => curves.filter((curve) => curve.size[i] > 0).length);
  const only = (values) => values.map((value, i) => (alive[i] > 1 ? value : null));
  const shown = curves.filter((curve) => hasNumbers(only(curve.mean))),
    shade = shown.length > 4 ? 0.05 : 0.13;
  return shown.flatMap((curve) => {
    const name = `flock ${curve.flock}`,
      colour = flockColour(curve.flock);
    return [
      line(name, rounds, only(curve.mean), colour, {
        lineStyle: { color: colour, width: 2, type: curve.flock < LIGHT.length ? "solid" : "dashed" },
      }),
      ...bands(name, rounds, only(curve.low), only(curve.high), colour, shade),
    ];
  });
}

// One lane per kind of event below the curves; a dot for each round, larger where more happened. What was told before
// the first round on record, such as of the data, has no place on the axis.
function eventLanes(run) {
  const listed = {},
    { lanes, items } = run.events;
  for (const event of items) {
    const key = `${event.kind} ${event.round}`;
    listed[key] ??= [];
    listed[key].push(event);
  }
  const order = [...TURNING, ...Object.keys(lanes).filter((kind) => !TURNING.includes(kind))];
  return order
    .filter((kind) => lanes[kind]?.some(([round]) => round >= run.rounds[0]))
    .slice(0, 12)
    .map((kind) => ({
      kind,
      dots: lanes[kind].map(([round, count]) => ({
        kind,
        round,
        count,
        events: listed[`${kind} ${round}`] || [],
      })),
    }));
}

function turningLines(run) {
  const seen = new Map();
  for (const event of run.events.items)
    if (TURNING.includes(event.kind) && !seen.has(event.round)) seen.set(event.round, event.kind);
  const latest = [...seen].slice(-12);
  return latest.map(([round, kind]) => ({
    xAxis: round,
    lineStyle: { color: eventColour(kind), type: "dashed", width: 1.2 },
  }));
}

const accuracyFigure = {
  id: "accuracy",
  title: "Accuracy over rounds",
  titled: (run) => `${run.score.title[0].toUpperCase()}${run.score.title.slice(1)} over rounds`,
  wide: true,
  has: (run) => hasNumbers(scoreFact(run)),
  note: (run) =>
    [
      run.score.better === "lower"
        ? "Lower is better. Mean over clients"
        : "Mean over clients, each tested on its own data",
      flockSeries(run).length ? ", and of each flock" : "",
      "; shades reach from the 10th to the 90th percentile of clients. Dots below are events.",
    ].join(""),
  csv: (run) => [
    ["round", ...Object.keys(run.facts), "seconds"],
    ...run.rounds.map((round, i) => [
      round,
      ...Object.values(run.facts).map((values) => values[i]),
      run.seconds[i],
    ]),
  ],
  draw(card, run) {
    const rounds = run.rounds,
      lanes = eventLanes(run),
      mean = scoreFact(run),
      flocks = flockSeries(run);
    const top = Math.max(
      ...[mean, scoreFact(run, "p90") || [], ...(run.flocks?.curves || []).map((curve) => curve.high)]
        .flat()
        .map((value) => value ?? 0),
    );
    const none = rounds.map(() => null),
      lane = 20,
      height = flexible(SMALL() ? 330 : 420) + lanes.length * lane;
    const left = lanes.length ? (SMALL() ? 92 : 118) : 52,
      below = lanes.length * lane + 58 + (rounds.length > 60 ? 34 : 0);
    const all = line("all clients", rounds, mean, css("ink"), {
      lineStyle: { width: 2.6, color: css("ink") },
      z: 4,
    });
    all.markLine = { symbol: "none", silent: true, label: { show: false }, data: turningLines(run) };
    const series = [
      all,
      ...(flocks.length
        ? []
        : bands(
            "all clients",
            rounds,
            scoreFact(run, "p10") || none,
            scoreFact(run, "p90") || none,
            css("accent"),
            0.18,
          )),
      ...flocks,
    ];
    if (scoreFact(run, "worst"))
      series.push(
        line("worst client", rounds, scoreFact(run, "worst"), css("faint"), {
          lineStyle: { type: "dotted", width: 1.6, color: css("faint") },
        }),
      );
    lanes.forEach((one, i) => {
      series.push({
        type: "scatter",
        name: EVENT_WORDS[one.kind] || one.kind,
        xAxisIndex: 1,
        yAxisIndex: 1,
        itemStyle: { color: eventColour(one.kind) },
        symbol: SYMBOLS[i % 4],
        data: one.dots.map((dot) => ({ value: [dot.round, i], ...dot })),
        symbolSize: (_value, params) => Math.min(7 + 2 * Math.log2(params.data.count), 14),
        tooltip: tip({ formatter: (p) => `round ${p.value[0]}\n${eventLines(run, p.data)}` }),
      });
    });
    const span = { left, right: SMALL() ? 14 : 24 };
    plot(
      card,
      {
        legend: legend({ data: [...new Set(series.filter((s) => s.type === "line").map((s) => s.name))] }),
        grid: [
          { ...span, top: 36, bottom: below },
          { ...span, height: lanes.length * lane, bottom: 46 + (rounds.length > 60 ? 34 : 0) },
        ],
        xAxis: [
          roundAxis(
            rounds,
            lanes.length ? { name: "", axisLabel: { show: false }, axisTick: { show: false } } : {},
          ),
          roundAxis(rounds, {
            gridIndex: 1,
            show: lanes.length > 0,
            position: "bottom",
            axisLine: { show: true, onZero: false },
          }),
        ],
        yAxis: [
          axis({
            scale: true,
            max: run.score.share ? Math.min(1, Math.ceil(top * 20 + 0.4) / 20) : undefined,
            min: (v) => Math.floor(v.min * 10) / 10,
          }),
          axis({
            type: "category",
            gridIndex: 1,
            inverse: true,
            data: lanes.map((l) => EVENT_WORDS[l.kind] || l.kind),
            axisTick: { show: false },
            axisLine: { show: false },
            axisLabel: {
              color: css("soft"),
              fontSize: 11,
              interval: 0,
              width: left - 12,
              overflow: "truncate",
            },
            splitLine: { show: true, lineStyle: { color: css("line") } },
          }),
        ],
        dataZoom:
          rounds.length > 60
            ? [
                {
                  type: "slider",
                  xAxisIndex: [0, 1],
                  height: 18,
                  bottom: 6,
                  filterMode: "none",
                  borderColor: css("line"),
                  textStyle: { color: css("soft") },
                },
              ]
            : [],
        axisPointer: { link: [{ xAxisIndex: "all" }] },
        tooltip: tip({ trigger: "axis", formatter: (points) => axisTip(points) }),
        series,
      },
      height,
    );
  },
};

function axisTip(points) {
  const lines = points
    .filter((p) => p.seriesType === "line")
    .map((p) => `${p.seriesName}: ${short(p.value[1])}`);
  return points.length ? `round ${points[0].value[0]}\n${[...new Set(lines)].join("\n")}` : "";
}

function eventLines(run, { kind, count, events }) {
  const lines = events
    .slice(0, 6)
    .map((event) =>
      (event.client === null
        ? event.message
        : `${numberName(run, event.client).slice(0, 40)}: ${event.message}`
      ).slice(0, 120),
    );
  const rest = count - lines.length;
  return (
    lines.join("\n") +
    (rest > 0 ? `${lines.length ? "\nand " : ""}${rest}${lines.length ? " more" : ` times ${kind}`}` : "")
  );
}
