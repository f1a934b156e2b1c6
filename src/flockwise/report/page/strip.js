// Every client in every round: one row a client, one column a round.

function ordered(run) {
  const last = lastPlaces(run),
    truth = run.clients.truth || [];
  const rank = (place) => (place < 0 ? 20_000 - place : place);
  return last
    .map((_, i) => i)
    .sort((a, b) => rank(last[a]) - rank(last[b]) || (truth[a] ?? 0) - (truth[b] ?? 0) || a - b);
}

function parsed(colour) {
  const hex = colour.replace("#", "");
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

const stripFigure = {
  id: "strip",
  title: "Every client, every round",
  has: (run) => run.places && run.places.rounds.length > 1 && clientCount(run) > 0,
  note(run) {
    const { rounds } = run.places;
    return [
      `One row is one of ${short(clientCount(run))} clients, one column a round,`,
      `from ${rounds[0]} on the left to ${rounds[rounds.length - 1]}. Click a row for the client's history.`,
    ].join(" ");
  },
  controls(card) {
    choice(
      card,
      "by",
      [
        ["flock", "flock"],
        ["score", card.data.score.title],
      ],
      "Colour by",
    );
  },
  csv: (run) => [
    ["client", "name", ...run.places.rounds.map((round) => `round ${round}`)],
    ...ordered(run).map((client) => [
      client,
      clientName(run, client),
      ...run.places.rounds.map((_, row) => placeName(placeAt(run, row, client))),
    ]),
  ],
  draw(card, run) {
    const order = ordered(run),
      last = lastPlaces(run),
      byScore = card.state.by === "score" && run.scores && run.scores.rounds.length;
    const rounds = byScore ? run.scores.rounds : run.places.rounds;
    const known = new Map();
    const colourOf = (place) => known.get(place) || known.set(place, parsed(placeColour(place))).get(place);
    const heats = Array.from({ length: 251 }, (_, i) => heat(i / 250));
    cellPicture(card, {
      rows: order.length,
      columns: rounds.length,
      ratio: SMALL() ? 1 : 0.92,
      left: order.map((client) => placeColour(last[client])),
      words: card.note.textContent,
      colour(row, column) {
        if (!byScore) return colourOf(placeAt(run, column, order[row]));
        const value = scoreAt(run, column, order[row]);
        return value === null ? null : heats[Math.round(goodness(run, value) * 250)];
      },
      say(row, column) {
        const client = order[row],
          round = rounds[column],
          at = rowAt(run.places.rounds, round);
        const tested = run.scores ? rowAt(run.scores.rounds, round) : -1;
        const score = tested >= 0 ? `\n${run.score.title} ${short(scoreAt(run, tested, client))}` : "";
        const place = placeName(placeAt(run, at, client));
        return `${clientName(run, client)}\nround ${round}: ${place}${score}`;
      },
      pick: (row) => openClient(run, order[row]),
    });
    const all = new Set();
    for (const code of unpack(run.places.codes)) all.add(code + CONFIRMED);
    keyLine(card, byScore ? [scoreKey(run, run.score.title)] : placeKeys([...all]));
  },
};
