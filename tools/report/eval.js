"use strict";
(() => {
  const nav = document.getElementById("nav");
  for (const section of document.querySelectorAll("section[id]")) {
    const link = document.createElement("a");
    link.href = "#" + section.id;
    link.textContent = section.querySelector("h2").textContent;
    nav.append(link);
  }

  // A click on a heading sorts the table by it: first descending for numbers, ascending for words.
  const number = (text) => (text === "-" ? -1 : Number(text));
  function sort(head) {
    const place = head.cellIndex, body = head.closest("table").tBodies[0];
    const value = (row) => row.cells[place].textContent;
    const rows = [...body.rows];
    const words = rows.some((row) => Number.isNaN(number(value(row))));
    const first = words ? "ascending" : "descending", second = words ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? second : first;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    rows.sort((a, b) => (words ? value(a).localeCompare(value(b)) : number(value(a)) - number(value(b))) * (order === "ascending" ? 1 : -1));
    body.append(...rows);
  }
  for (const head of document.querySelectorAll("table.sorted th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head));
    head.append(button);
  }
})();
