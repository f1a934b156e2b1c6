// Where clients went: an alluvial of the rounds in which most changed, and the size of flocks in every round.

const flowFigure = {
  id: "flow",
  title: "Who went where",
  wide: true,
  has: (run) =>
    run.flow &&
    run.flow.columns.length > 1 &&
    (run.flow.moved > 0 || run.flow.columns.some((c) => c.places.length > 1)),
  note: () =>
    "Each band is clients that went together from one place to the next. " +
    "Columns are the rounds in which most changed.",
  csv: (run) => [
    ["from_round", "from", "to_round", "to", "clients"],
    ...run.flow.links.map(([column, from, to, count]) => [
      run.flow.columns[column].round,
      placeName(from),
      run.flow.columns[column + 1].round,
      placeName(to),
      count,
    ]),
  ],
  controls(card) {
    choice(
      card,
      "look",
      [
        ["flow", "flow"],
        ["sizes", "sizes over rounds"],
      ],
      "Show",
    );
  },
  draw(card, run) {
    if (card.state.look === "sizes") return plot(card, sizesOption(run), flexible(340));
    const { columns, links } = run.flow,
      small = SMALL();
    const data = columns.flatMap((column, depth) =>
      column.places.map((place, i) => ({
        name: `${depth}/${place}`,
        depth,
        place,
        round: column.round,
        value: column.counts[i],
        itemStyle: { color: placeColour(place), borderWidth: 0 },
        label: {
          position: depth === columns.length - 1 ? "left" : "right",
          formatter: `${small ? shortPlace(place) : placeName(place)} (${column.counts[i]})`,
        },
      })),
    );
    const rank = (place) => (place < 0 ? 20_000 - place : place);
    data.sort((a, b) => a.depth - b.depth || rank(a.place) - rank(b.place));
    plot(
      card,
      {
        title: columns
          .map((column, i) => ({
            text: `round ${column.round}`,
            top: 4,
            textAlign: i === 0 ? "left" : i === columns.length - 1 ? "right" : "center",
            left: `${(i / (columns.length - 1)) * 100}%`,
            textStyle: { fontSize: small ? 10 : 12, fontWeight: 500, color: css("soft") },
            padding: 0,
          }))
          .filter((_, i) => !small || i % 2 === 0 || columns.length < 5),
        tooltip: tip({
          formatter: (p) =>
            p.dataType === "edge"
              ? `${p.value} clients\n${edgeWords(p.data, columns)}`
              : `round ${p.data.round}: ${p.data.value} clients in\n${placeName(p.data.place)}`,
        }),
        series: [
          {
            type: "sankey",
            left: 2,
            right: 2,
            top: 26,
            bottom: 8,
            nodeWidth: 12,
            nodeGap: 10,
            layoutIterations: 0,
            draggable: false,
            data,
            links: links.map(([column, from, to, value]) => ({
              source: `${column}/${from}`,
              target: `${column + 1}/${to}`,
              value,
              column,
              from,
              to,
            })),
            lineStyle: { color: "gradient", opacity: isDark() ? 0.4 : 0.32, curveness: 0.5 },
            emphasis: { focus: "adjacency" },
            label: { color: css("ink"), fontSize: 11 },
          },
        ],
      },
      flexible(small ? 340 : 400),
    );
  },
};

function shortPlace(place) {
  if (place >= 0 && place !== OTHERS) return place;
  return place === QUARANTINED || place === CONFIRMED ? "apart" : placeName(place);
}

function edgeWords(link, columns) {
  const round = columns[link.column].round,
    next = columns[link.column + 1].round;
  return `from ${placeName(link.from)} (round ${round}) to ${placeName(link.to)} (round ${next})`;
}

function sizesOption(run) {
  const { rounds, curves } = run.flocks,
    apart = run.facts.apart || [];
  const shown = curves.map((curve) => ({
    name: `flock ${curve.flock}`,
    colour: flockColour(curve.flock),
    values: curve.size,
  }));
  if (apart.some((value) => value > 0))
    shown.push({
      name: "set apart",
      colour: css("quarantined"),
      values: rounds.map((round) => apart[run.rounds.indexOf(round)] ?? 0),
    });
  return {
    legend: legend(),
    grid: { left: 46, right: 20, top: 36, bottom: 44 },
    xAxis: roundAxis(rounds),
    yAxis: axis({ name: "clients" }),
    tooltip: tip({
      trigger: "axis",
      formatter: (points) =>
        `round ${points[0].value[0]}\n${points
          .filter((p) => p.value[1] > 0)
          .map((p) => `${p.seriesName}: ${p.value[1]}`)
          .join("\n")}`,
    }),
    series: shown.map((one) => ({
      type: "line",
      name: one.name,
      stack: "all",
      symbol: "none",
      step: "middle",
      lineStyle: { width: 0 },
      areaStyle: { color: one.colour, opacity: 0.85 },
      itemStyle: { color: one.colour },
      data: rounds.map((round, i) => [round, one.values[i]]),
    })),
  };
}
