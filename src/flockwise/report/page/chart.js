// Cards with a picture in them. A figure says what to draw; a card keeps its place, controls and downloads.

const cards = new Map();
const SMALL = () => window.innerWidth < 620;

// figure: { id, title, note(data), has(data), wide, long, noImage,
//           controls(card), draw(card, data), csv(data, card) }
function showFigures(figures, data) {
  const grid =
    document.querySelector(".cards") ||
    document.getElementById("page").appendChild(el("div", { class: "cards" }));
  let next = null;
  for (const figure of figures.slice().reverse()) {
    if (figure.titled) figure.title = figure.titled(data);
    const wanted = figure.has(data);
    let card = cards.get(figure.id);
    if (!card && !wanted) continue;
    if (!card) {
      card = makeCard(figure);
      cards.set(figure.id, card);
      // Cards that are there stay put, with the reader's focus and scrolling.
      grid.insertBefore(card.root, next);
    }
    next = card.root;
    card.data = data;
    card.root.hidden = !wanted;
  }
  fillRows(grid);
  for (const figure of figures) drawSoon(cards.get(figure.id));
}

// The first picture is drawn at once, the others one by one, so that the page answers in between.
const waiting = new Set();
function drawSoon(card) {
  if (!card || card.root.hidden) return;
  if (!waiting.size) {
    document.documentElement.dataset.ready = "no";
    drawCard(card);
    setTimeout(drawNext, 0);
  }
  waiting.add(card);
}

function drawNext() {
  waiting.delete(waiting.values().next().value);
  const card = waiting.values().next().value;
  if (card) {
    redraw(card);
    setTimeout(drawNext, 0);
  } else {
    document.documentElement.dataset.ready = "yes";
  }
}

// A narrow card with nothing beside it takes the whole row, where its figure can be stretched.
function fillRows(grid) {
  let narrow = [];
  for (const root of [...[...grid.children].filter((child) => !child.hidden), null]) {
    if (root && !root.classList.contains("wide")) {
      root.classList.remove("alone");
      narrow.push(root);
      continue;
    }
    const last = narrow.at(-1);
    if (narrow.length % 2 && cards.get(last.id).figure.stretch) last.classList.add("alone");
    narrow = [];
  }
}

function makeCard(figure) {
  const card = { figure, state: {}, chart: null, data: null };
  card.note = el("p", { class: "note" });
  card.controls = el("div", { class: "controls", hidden: true });
  card.box = el("div", { class: "picture" });
  const buttons = [];
  if (!figure.noImage) {
    for (const kind of ["SVG", "PNG"]) {
      buttons.push(
        el(
          "button",
          {
            type: "button",
            "aria-label": `${figure.title} as ${kind}`,
            onclick: () => saveImage(card, kind),
          },
          kind,
        ),
      );
    }
  }
  if (figure.csv) {
    buttons.push(
      el(
        "button",
        {
          type: "button",
          "aria-label": `${figure.title} as CSV`,
          onclick: () => save(`${figure.id}.csv`, csvText(figure.csv(card.data, card)), "text/csv"),
        },
        "CSV",
      ),
    );
  }
  const head = el(
    "div",
    { class: "cardhead" },
    el("h2", { id: `${figure.id}-title` }, figure.title),
    el("div", { class: "downloads" }, ...buttons),
  );
  const looks = `card${figure.wide ? " wide" : ""}${figure.long ? " long" : ""}`;
  card.root = el(
    "section",
    { class: looks, id: figure.id, "aria-labelledby": `${figure.id}-title` },
    head,
    card.note,
    card.controls,
    card.box,
  );
  return card;
}

function drawCard(card) {
  const note = card.figure.note ? card.figure.note(card.data, card) : "";
  card.note.textContent = note || "";
  card.note.hidden = !note;
  if (card.figure.controls && !card.ready) {
    card.controls.hidden = false;
    card.figure.controls(card);
  }
  card.ready = true;
  card.figure.draw(card, card.data);
}

function redraw(card) {
  if (card.data && !card.root.hidden) drawCard(card);
}

function redrawAll() {
  for (const card of cards.values()) redraw(card);
}

const onPaper = () => document.documentElement.classList.contains("printing");

// The height of a picture that can be lower: on paper by a quarter, so that several fit a page.
function flexible(height) {
  return onPaper() ? Math.round(height * 0.75) : height;
}

// Draw an ECharts option in the card, `height` pixels high.
function plot(card, option, height) {
  if (!card.plotBox) {
    card.plotBox = el("div", { class: "plot", role: "img" });
    card.box.append(card.plotBox);
  }
  card.plotBox.style.height = `${height}px`;
  card.plotBox.setAttribute("aria-label", `${card.figure.title}. ${card.note.textContent}`);
  card.option = { ...ground(), ...option };
  card.height = height;
  if (!card.chart) card.chart = echarts.init(card.plotBox, null, { renderer: "canvas" });
  card.chart.resize({ height });
  card.chart.setOption(card.option, { notMerge: true });
}

// What all charts share: no animation, text in the page's colours, tips drawn in the canvas (never as HTML).
function ground() {
  return {
    animation: false,
    backgroundColor: "transparent",
    textStyle: { color: css("ink"), fontFamily: "system-ui, Segoe UI, Roboto, sans-serif" },
    tooltip: tip(),
  };
}

function tip(more) {
  return {
    trigger: "item",
    renderMode: "richText",
    confine: true,
    backgroundColor: css("card"),
    borderColor: css("line"),
    textStyle: { color: css("ink"), fontSize: 12 },
    axisPointer: { lineStyle: { color: css("faint") } },
    ...more,
  };
}

function axis(more) {
  return {
    type: "value",
    axisLine: { lineStyle: { color: css("faint") } },
    axisLabel: { color: css("soft"), hideOverlap: true },
    nameTextStyle: { color: css("soft") },
    splitLine: { lineStyle: { color: css("line") } },
    ...more,
  };
}

function roundAxis(rounds, more) {
  return axis({
    name: "round",
    nameLocation: "middle",
    nameGap: 26,
    min: rounds[0] ?? 0,
    max: rounds[rounds.length - 1] ?? 1,
    minInterval: 1,
    splitLine: { show: false },
    ...more,
  });
}

function legend(more) {
  return {
    type: "scroll",
    top: 2,
    left: 0,
    padding: [6, 4],
    textStyle: { color: css("soft") },
    pageTextStyle: { color: css("soft") },
    icon: "roundRect",
    itemWidth: 14,
    itemHeight: 8,
    ...more,
  };
}

function saveImage(card, kind) {
  const name = `${card.figure.id}.${kind.toLowerCase()}`;
  if (!card.ready) drawCard(card);
  if (card.canvas) return saveCanvas(card.canvas, name, kind);
  if (kind === "PNG")
    return save(name, card.chart.getDataURL({ pixelRatio: 2, backgroundColor: css("card") }), "image/png");
  const width = card.plotBox.clientWidth;
  const still = echarts.init(null, null, { renderer: "svg", ssr: true, width, height: card.height });
  still.setOption({ ...card.option, backgroundColor: css("card") });
  save(name, still.renderToSVGString(), "image/svg+xml");
  still.dispose();
}

function saveCanvas(canvas, name, kind) {
  const image = canvas.toDataURL("image/png");
  if (kind === "PNG") return save(name, image, "image/png");
  const size = `width="${canvas.width}" height="${canvas.height}"`;
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" ${size}><image href="${image}" ${size}/></svg>`;
  save(name, drawing, "image/svg+xml");
}

// A slider over rounds; it starts at the last one and stays there as rounds are added.
function roundSlider(card, rounds) {
  const shown = el("output", {});
  const input = el("input", { type: "range", min: 0, step: 1, "aria-label": `${card.figure.title}: round` });
  input.addEventListener("input", () => {
    card.state.at = input.value === input.max ? null : rounds()[Number(input.value)];
    redraw(card);
  });
  card.slide = () => {
    const all = rounds(),
      wanted = card.state.at ?? null;
    const row = wanted === null ? all.length - 1 : Math.max(0, rowAt(all, wanted));
    input.max = String(Math.max(all.length - 1, 0));
    input.value = String(row);
    label.hidden = all.length < 2;
    shown.textContent = `round ${all[row]}`;
    input.setAttribute("aria-valuetext", shown.textContent);
    return row;
  };
  const label = el("label", {}, input, shown);
  card.controls.append(label);
}

// A choice between a few ways to look, as buttons.
function choice(card, name, options, words) {
  card.state[name] ??= options[0][0];
  const buttons = options.map(([value, text]) =>
    el(
      "button",
      {
        type: "button",
        "aria-pressed": String(card.state[name] === value),
        onclick: () => {
          card.state[name] = value;
          buttons.forEach((button, i) => {
            button.setAttribute("aria-pressed", String(options[i][0] === value));
          });
          redraw(card);
        },
      },
      text,
    ),
  );
  card.controls.append(
    el("span", { role: "group", "aria-label": words, class: "controls" }, words, ...buttons),
  );
}
