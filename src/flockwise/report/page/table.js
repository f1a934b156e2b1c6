// Tables: a row of headings above rows of cells; a long one scrolls by itself, a very long one grows on demand.

function heading(title, figure, meaning) {
  return el("th", { scope: "col", class: figure ? "figure" : undefined, title: meaning || undefined }, title);
}

function table(head, rows) {
  return el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
}

function scrolling(label, head, rows) {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table(head, rows));
}

// The button below a table that shows more of its rows, if there are any.
function showMore(card, left) {
  if (left <= 0) return [];
  const more = () => {
    card.state.shown += 10 * PAGE;
    redraw(card);
  };
  return [el("button", { class: "more", type: "button", onclick: more }, `Show more (${short(left)})`)];
}
