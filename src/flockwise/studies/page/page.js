// Choosing a row of a table marks its curve in every panel below; choosing it again lets go.
for (const section of document.querySelectorAll("section.card.table")) {
  const buttons = section.querySelectorAll("tbody th button");
  const lines = section.querySelectorAll(".panels polyline");
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      for (const other of buttons) {
        other.setAttribute("aria-pressed", "false");
        other.closest("tr").classList.remove("chosen");
      }
      button.setAttribute("aria-pressed", String(on));
      button.closest("tr").classList.toggle("chosen", on);
      section.classList.toggle("choosing", on);
      for (const line of lines) {
        const name = line.querySelector("title")?.textContent;
        const mine = on && name === button.textContent;
        line.classList.toggle("chosen", mine);
        line.classList.toggle("other", on && !mine);
      }
    });
  }
}
