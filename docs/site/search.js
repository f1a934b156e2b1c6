// Search in the sections of all pages: every word must be there; words in titles and headings count most.
"use strict";

const box = document.getElementById("search");
const found = document.getElementById("found");
const root = document.body.dataset.root;
const MOST = 12;

if (matchMedia("(min-width: 1100px)").matches) document.getElementById("menu").open = true;

function score([page, heading, , text], words) {
  let sum = 0;
  for (const word of words) {
    const inHeading = heading.toLowerCase().includes(word);
    const inTitle = page.toLowerCase().includes(word);
    const inText = text.toLowerCase().includes(word);
    if (!inHeading && !inTitle && !inText) return 0;
    sum += 10 * inHeading + 5 * inTitle + inText;
  }
  return sum;
}

function piece(text, word) {
  const place = Math.max(0, text.toLowerCase().indexOf(word) - 50);
  return (place ? "… " : "") + text.slice(place, place + 150);
}

function entry([page, heading, address, text], word) {
  const link = document.createElement("a");
  link.href = `${root}/${address}`;
  link.textContent = heading === page ? page : `${page}: ${heading}`;
  const more = document.createElement("small");
  more.textContent = piece(text, word);
  link.append(more);
  return link;
}

function look() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.hidden = !words.length;
  const ranked = window.ENTRIES.map((one) => [score(one, words), one]).filter(([points]) => points > 0);
  ranked.sort((a, b) => b[0] - a[0]);
  found.replaceChildren(...ranked.slice(0, MOST).map(([, one]) => entry(one, words[0])));
  if (words.length && !ranked.length) {
    const nothing = document.createElement("p");
    nothing.textContent = "No page has all of these words.";
    found.append(nothing);
  }
}

box.addEventListener("input", look);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== box) {
    event.preventDefault();
    box.focus();
  } else if (event.key === "Escape") {
    box.value = "";
    look();
  } else if (event.key === "Enter" && document.activeElement === box) {
    found.querySelector("a")?.click();
  }
});
document.addEventListener("click", (event) => {
  if (!found.contains(event.target) && event.target !== box) found.hidden = true;
});
