// Clients as dots in the plane: those whose updates agree lie close together.

const mapFigure = {
  id: "map",
  title: "Map of the clients",
  stretch: true,
  has: (run) => run.maps.length > 0,
  note(run) {
    const made = run.maps[0].made === "similarity" ? " (drawn from their similarities)" : "";
    return `Clients whose updates are alike lie close together${made}. Click a dot for its history.`;
  },
  controls(card) {
    const run = card.data,
      ways = [
        ["flock", "flock"],
        ["score", run.score.title],
      ];
    if ((run.clients.truth || []).some((truth) => truth !== null)) ways.splice(1, 0, ["truth", "truth"]);
    if ((run.clients.attacker || []).some(Boolean)) ways.push(["attacker", "attacker"]);
    choice(card, "by", ways, "Colour by");
    roundSlider(card, () => card.data.maps.map((page) => page.round));
  },
  csv(run, card) {
    const page = run.maps[card.slide()],
      places = placesAt(run, page.round);
    return [
      ["client", "name", "x", "y", "place", "truth"],
      ...page.x.map((x, i) => [
        i,
        clientName(run, i),
        x,
        page.y[i],
        placeName(places[i]),
        run.clients.truth?.[i],
      ]),
    ];
  },
  draw(card, run) {
    const page = run.maps[card.slide()],
      by = card.state.by,
      places = placesAt(run, page.round),
      now = lastScores(run);
    const groups = new Map(),
      size = page.x.length > 400 ? 7 : 11;
    page.x.forEach((x, i) => {
      if (x === null || page.y[i] === null) return;
      const [name, colour, order] =
        by === "truth"
          ? [
              `group ${run.clients.truth[i] ?? "unknown"}`,
              flockColour(run.clients.truth[i] ?? 11),
              run.clients.truth[i] ?? 99,
            ]
          : by === "attacker"
            ? run.clients.attacker[i]
              ? ["attacker", flockColour(5), 1]
              : ["honest", flockColour(0), 0]
            : by === "score"
              ? [run.score.title, null, 0]
              : [placeName(places[i]), placeColour(places[i]), places[i] < 0 ? 1000 - places[i] : places[i]];
      if (!groups.has(name)) groups.set(name, { name, colour, order, data: [] });
      const share = now[i];
      groups.get(name).data.push({
        value: [x, page.y[i]],
        client: i,
        itemStyle:
          by === "score"
            ? { color: share === null ? css("unplaced") : rgb(heat(goodness(run, share))) }
            : undefined,
      });
    });
    const sorted = [...groups.values()].sort((a, b) => a.order - b.order);
    const limits = (values) => {
      const seen = values.filter((v) => v !== null),
        low = Math.min(...seen),
        high = Math.max(...seen),
        room = (high - low || 1) * 0.06;
      return { min: low - room, max: high + room };
    };
    const bare = {
      axisLabel: { show: false },
      axisTick: { show: false },
      axisLine: { show: false },
      splitNumber: 4,
    };
    plot(
      card,
      {
        legend: legend({ show: by !== "score", icon: undefined, data: sorted.map((one) => one.name) }),
        grid: { left: 8, right: 8, top: 40, bottom: 8 },
        xAxis: axis({ ...bare, ...limits(page.x) }),
        yAxis: axis({ ...bare, ...limits(page.y) }),
        tooltip: tip({
          formatter({ data: { client } }) {
            const name = clientName(run, client).slice(0, 60);
            return `${name}\n${placeName(places[client])}, ${run.score.title} ${short(now[client])}`;
          },
        }),
        series: sorted.map((one) => ({
          type: "scatter",
          name: one.name,
          data: one.data,
          symbol: by === "score" ? "circle" : SYMBOLS[Math.abs(one.order) % 4],
          symbolSize: size,
          itemStyle: {
            color: one.colour || css("accent"),
            opacity: 0.85,
            borderColor: css("card"),
            borderWidth: 0.7,
          },
        })),
      },
      flexible(SMALL() ? 360 : 480),
    );
    keyLine(card, by === "score" ? [scoreKey(run, `${run.score.title} now`)] : []);
    card.chart.off("click");
    card.chart.on("click", (p) => {
      if (p.data && p.data.client !== undefined) openClient(run, p.data.client);
    });
  },
};
