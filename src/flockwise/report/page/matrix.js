// Pictures made of cells, drawn straight onto a canvas so that a thousand clients are no burden.

// paint: { rows, columns, colour(row, column) -> [r, g, b] or null, say(row, column), pick(row, column),
//          left: [colours], top: [colours], ratio, words }
function cellPicture(card, paint) {
  if (!card.canvas) makeCanvas(card);
  card.paint = paint;
  const width = Math.max(card.box.clientWidth, 200),
    bar = 10,
    gap = 3,
    ratio = Math.min(window.devicePixelRatio || 1, 2);
  const edge = { left: paint.left ? bar + gap : 0, top: paint.top ? bar + gap : 0 };
  const height = Math.round((width - edge.left) * paint.ratio) + edge.top;
  const canvas = card.canvas,
    pen = canvas.getContext("2d");
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  canvas.setAttribute(
    "aria-label",
    `${card.figure.title}. ${paint.words} Arrow keys move over cells, Enter opens the client.`,
  );
  pen.scale(ratio, ratio);
  pen.imageSmoothingEnabled = false;
  card.area = { x: edge.left, y: edge.top, width: width - edge.left, height: height - edge.top };
  pen.drawImage(cellImage(paint), card.area.x, card.area.y, card.area.width, card.area.height);
  stripe(pen, paint.left, 0, card.area.y, bar, card.area.height, true);
  stripe(pen, paint.top, card.area.x, 0, card.area.width, bar, false);
}

function cellImage(paint) {
  const image = document.createElement("canvas");
  image.width = Math.max(paint.columns, 1);
  image.height = Math.max(paint.rows, 1);
  const pen = image.getContext("2d"),
    cells = pen.createImageData(image.width, image.height);
  for (let row = 0, at = 0; row < paint.rows; row++) {
    for (let column = 0; column < paint.columns; column++, at += 4) {
      const colour = paint.colour(row, column);
      if (!colour) continue;
      cells.data[at] = colour[0];
      cells.data[at + 1] = colour[1];
      cells.data[at + 2] = colour[2];
      cells.data[at + 3] = 255;
    }
  }
  pen.putImageData(cells, 0, 0);
  return image;
}

function stripe(pen, colours, x, y, width, height, down) {
  (colours || []).forEach((colour, i) => {
    pen.fillStyle = colour;
    const step = (down ? height : width) / colours.length;
    if (down) pen.fillRect(x, y + i * step, width, step + 0.5);
    else pen.fillRect(x + i * step, y, step + 0.5, height);
  });
}

function makeCanvas(card) {
  card.canvas = el("canvas", { tabindex: 0, role: "img" });
  card.hint = el("div", { class: "hint", role: "status", hidden: true });
  card.box.append(card.canvas, card.hint);
  const cellAt = (event) => {
    const box = card.canvas.getBoundingClientRect(),
      a = card.area;
    const column = Math.floor(((event.clientX - box.left - a.x) / a.width) * card.paint.columns);
    const row = Math.floor(((event.clientY - box.top - a.y) / a.height) * card.paint.rows);
    return row >= 0 && column >= 0 && row < card.paint.rows && column < card.paint.columns
      ? [row, column]
      : null;
  };
  const point = (cell) => {
    card.hint.hidden = !cell;
    if (!cell) return;
    card.hint.textContent = card.paint.say(...cell);
    const x = card.area.x + ((cell[1] + 0.5) / card.paint.columns) * card.area.width,
      y = card.area.y + ((cell[0] + 1) / card.paint.rows) * card.area.height;
    card.hint.style.left = `${Math.max(0, Math.min(x + 10, card.canvas.clientWidth - 230))}px`;
    card.hint.style.top = `${y + 8}px`;
  };
  card.canvas.addEventListener("pointermove", (event) => point(cellAt(event)));
  card.canvas.addEventListener("pointerleave", () => point(null));
  card.canvas.addEventListener("blur", () => point(null));
  card.canvas.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell) card.paint.pick(...cell);
  });
  card.canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    card.cursor ??= [0, 0];
    const cell = card.cursor;
    if (event.key === "Enter") card.paint.pick(...cell);
    if (!step) return;
    event.preventDefault();
    card.cursor = [
      Math.min(Math.max(cell[0] + step[0], 0), card.paint.rows - 1),
      Math.min(Math.max(cell[1] + step[1], 0), card.paint.columns - 1),
    ];
    point(card.cursor);
  });
}

function drawnPages(run) {
  return run.similarity.filter((page) => page.values);
}

const matrixFigure = {
  id: "similarity",
  title: "How alike clients are",
  has: (run) => drawnPages(run).length > 0,
  note: () =>
    "Rows and columns are clients, ordered by the flocks of that round (bars). " +
    "Bright is alike. Squares on the diagonal are flocks.",
  controls(card) {
    roundSlider(card, () => drawnPages(card.data).map((page) => page.round));
  },
  csv(run, card) {
    const page = drawnPages(run)[card.slide()],
      side = page.values.shape[0];
    return Array.from({ length: side }, (_, row) =>
      Array.from({ length: side }, (_, column) => level(page.values, row * side + column)),
    );
  },
  draw(card, run) {
    const page = drawnPages(run)[card.slide()],
      order = unpack(page.order),
      side = page.values.shape[0],
      codes = unpack(page.values);
    const places = placesAt(run, page.round),
      client = (cell) => order[Math.min(cell * page.step, order.length - 1)];
    const away = page.kind === "distance",
      bars = Array.from({ length: side }, (_, i) => placeColour(places[client(i)]));
    const colours = Array.from({ length: 256 }, (_, code) =>
      code === MISSING ? null : heat(away ? 1 - code / STEPS : code / STEPS),
    );
    const group = page.step > 1 ? ` and ${page.step - 1} neighbours` : "";
    cellPicture(card, {
      rows: side,
      columns: side,
      ratio: 1,
      left: bars,
      top: bars,
      words: card.note.textContent,
      colour: (row, column) => colours[codes[row * side + column]],
      say(row, column) {
        const at = row * side + column;
        const found = codes[at] === MISSING ? "never compared" : short(level(page.values, at));
        const who = (one) => `${clientName(run, one)}${group} (${placeName(places[one])})`;
        return `${who(client(row))}\n${who(client(column))}\n${page.kind}: ${found}`;
      },
      pick: (row) => openClient(run, client(row)),
    });
    keyLine(card, [
      away
        ? heatKey(page.values.high, page.values.low, page.kind)
        : heatKey(page.values.low, page.values.high, page.kind),
      ...placeKeys(places),
    ]);
  },
};

function placeKeys(places) {
  const all = [...new Set(places)].sort((a, b) => a - b);
  return all.slice(0, 16).map((place) => el("li", {}, dot(placeColour(place)), placeName(place)));
}

function keyLine(card, items) {
  card.key?.remove();
  card.key = el("ul", { class: "key" }, ...items);
  card.root.append(card.key);
}
