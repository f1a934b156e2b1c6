// Light or dark as the system says, until the reader chooses; then the first drawing.

const darkSystem = window.matchMedia("(prefers-color-scheme: dark)");

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

function switchTheme() {
  setTheme(isDark() ? "light" : "dark");
  try {
    localStorage.setItem("flockwise-theme", document.documentElement.dataset.theme);
  } catch {
    /* a file opened without storage */
  }
  redrawAll();
}

function chosenTheme() {
  try {
    return localStorage.getItem("flockwise-theme");
  } catch {
    return null;
  }
}

window.flockwise = { showRun, showComparison, masthead, el, dot, short, duration, css, cards };

setTheme(chosenTheme() || (darkSystem.matches ? "dark" : "light"));
darkSystem.addEventListener("change", () => {
  if (!chosenTheme()) {
    setTheme(darkSystem.matches ? "dark" : "light");
    redrawAll();
  }
});

let resized = 0;
window.addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(redrawAll, 120);
});
// Printed pages are light; charts are drawn anew at the width of paper, so that letters stay readable.
let before = null;
window.addEventListener("beforeprint", () => {
  before = document.documentElement.dataset.theme;
  setTheme("light");
  document.documentElement.classList.add("printing");
  redrawAll();
});
window.addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printing");
  if (before) setTheme(before);
  redrawAll();
});

const given = document.getElementById("data");
if (given) {
  const shown = JSON.parse(given.textContent);
  if (shown.run) showRun(shown.run);
  if (shown.comparison) showComparison(shown.comparison);
  if (!waiting.size) document.documentElement.dataset.ready = "yes";
}
