// Small helpers: elements made from text alone, numbers in words, colours that everyone can tell apart.

function el(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "hidden" || key === "disabled")
      node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(
    ...children
      .filter((child) => child !== null && child !== undefined)
      .map((c) => (c.nodeType ? c : String(c))),
  );
  return node;
}

function short(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  return size >= 1000
    ? Math.round(value).toLocaleString("en")
    : size >= 0.001
      ? value.toFixed(size >= 100 ? 1 : digits)
      : value.toPrecision(2);
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.95) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 90) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

function placeName(place) {
  return place === UNPLACED
    ? "no flock yet"
    : place === QUARANTINED
      ? "set apart"
      : place === CONFIRMED
        ? "confirmed hostile"
        : place === OTHERS
          ? "smaller flocks"
          : `flock ${place}`;
}

// Okabe and Ito's colours, then Paul Tol's, ordered so that neighbours differ also in lightness.
const LIGHT = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#56b4e9",
  "#d55e00",
  "#882255",
  "#999933",
  "#44aa99",
  "#332288",
  "#aa4499",
  "#8a6d3b",
];
const DARK = [
  "#4aa3e0",
  "#f0b02e",
  "#2cc295",
  "#dd93bd",
  "#86cdf5",
  "#f0803c",
  "#c96a9b",
  "#bdbd55",
  "#66c7b6",
  "#9186e8",
  "#c774bd",
  "#c7a76c",
];
const SYMBOLS = ["circle", "rect", "triangle", "diamond", "pin", "arrow", "roundRect"];
const VIRIDIS = [
  [68, 1, 84],
  [65, 68, 135],
  [42, 120, 142],
  [34, 168, 132],
  [122, 209, 81],
  [253, 231, 37],
];
const EVENT_WORDS = {
  flocks: "flocks found",
  split: "flock split",
  moved: "client moved",
  placed: "client placed",
  quarantine: "set apart",
  released: "released",
  confirmed: "confirmed hostile",
  rollback: "rolled back",
  rejected: "reply rejected",
  dropout: "no reply",
  skipped: "round skipped",
};

function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function flockColour(flock) {
  const colours = isDark() ? DARK : LIGHT;
  return colours[((flock % colours.length) + colours.length) % colours.length];
}

function placeColour(place) {
  return place === UNPLACED
    ? css("unplaced")
    : place === QUARANTINED
      ? css("quarantined")
      : place === CONFIRMED
        ? css("confirmed")
        : place === OTHERS
          ? css("faint")
          : flockColour(place);
}

function eventColour(kind) {
  const own = {
    flocks: 2,
    split: 0,
    moved: 4,
    placed: 8,
    quarantine: 5,
    confirmed: 6,
    released: 7,
    rollback: 1,
    rejected: 10,
    dropout: 3,
  };
  return kind in own ? flockColour(own[kind]) : css("faint");
}

// A colour between dark violet (0) and yellow (1).
function heat(share) {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1),
    low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return VIRIDIS[low].map((value, i) => Math.round(value + (VIRIDIS[low + 1][i] - value) * (at - low)));
}

function rgb(parts) {
  return `rgb(${parts.join(",")})`;
}

function dot(colour) {
  const mark = el("span", { class: "dot", "aria-hidden": "true" });
  mark.style.background = colour;
  return mark;
}

function heatKey(low, high, words) {
  const scale = el("span", { class: "scale", "aria-hidden": "true" });
  scale.style.background = `linear-gradient(90deg, ${VIRIDIS.map(rgb).join(",")})`;
  return el("li", {}, `${words} ${short(low)}`, scale, short(high));
}

// Cells that a spreadsheet would take for a formula get a quote in front.
function csvCell(value) {
  if (value === null || value === undefined) return "";
  let text = String(value);
  if (typeof value !== "number" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvText(rows) {
  return `${rows.map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;
}

function save(name, content, kind) {
  const url =
    typeof content === "string" && content.startsWith("data:")
      ? content
      : URL.createObjectURL(new Blob([content], { type: kind }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  if (url.startsWith("blob:")) setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
