// The dendrogram that flocks were cut from.

const treeFigure = {
  id: "dendrogram",
  title: "Dendrogram",
  wide: true,
  has: (run) => run.dendrograms.length > 0,
  note(run) {
    const folded = run.dendrograms[0].leaves.some((leaf) => leaf.count > 1);
    return [
      "Clients join from the bottom up, the closest first;",
      "the dashed line is where the tree was cut into flocks.",
      ...(folded ? ["The lowest branches are folded."] : []),
    ].join(" ");
  },
  controls(card) {
    roundSlider(card, () => card.data.dendrograms.map((page) => page.round));
  },
  csv: (run, card) => [
    ["left", "right", "left_height", "right_height", "height", "flock"],
    ...run.dendrograms[card.slide()].lines,
  ],
  draw(card, run) {
    const page = run.dendrograms[card.slide()];
    const joins = {
      type: "custom",
      silent: true,
      encode: { x: [0, 1], y: [4] },
      data: page.lines.map((l) => l.slice(0, 5)),
      renderItem: (params, api) => {
        const [a, b, low, other, top] = page.lines[params.dataIndex],
          place = page.lines[params.dataIndex][5];
        return {
          type: "polyline",
          shape: {
            points: [api.coord([a, low]), api.coord([a, top]), api.coord([b, top]), api.coord([b, other])],
          },
          style: { stroke: place === null ? css("soft") : placeColour(place), lineWidth: 1.4, fill: "none" },
        };
      },
      markLine:
        page.cut === null
          ? undefined
          : {
              symbol: "none",
              silent: true,
              data: [{ yAxis: page.cut }],
              lineStyle: { color: css("bad"), type: "dashed", width: 1.5 },
              label: { formatter: `cut at ${short(page.cut)}`, position: "insideEndTop", color: css("bad") },
            },
    };
    const leaves = {
      type: "scatter",
      symbolSize: page.leaves.length > 80 ? 5 : 8,
      z: 5,
      data: page.leaves.map((leaf, i) => ({
        value: [i, 0],
        leaf,
        itemStyle: { color: placeColour(leaf.place) },
      })),
    };
    plot(
      card,
      {
        grid: { left: 64, right: 16, top: 34, bottom: 16 },
        xAxis: axis({
          min: -0.7,
          max: page.leaves.length - 0.3,
          axisLabel: { show: false },
          axisTick: { show: false },
          splitLine: { show: false },
        }),
        yAxis: axis({ name: "distance", min: 0, axisLine: { show: false }, axisTick: { show: false } }),
        tooltip: tip({
          formatter({ data: { leaf } }) {
            if (!leaf) return "";
            const more = leaf.count > 1 ? ` and ${leaf.count - 1} more` : "";
            return `${clientName(run, leaf.client).slice(0, 60)}${more}\n${placeName(leaf.place)}`;
          },
        }),
        series: [joins, leaves],
      },
      flexible(360),
    );
    card.chart.off("click");
    card.chart.on("click", (p) => {
      if (p.data?.leaf) openClient(run, p.data.leaf.client);
    });
  },
};
