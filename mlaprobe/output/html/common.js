"use strict";

// What both parts need: the data, and a way to make elements that cannot run anything.

const DATA = JSON.parse(document.getElementById("data").textContent);
const text = (at) => (at < 0 ? "" : DATA.texts[at]);
const WORDS = DATA.map.words;

/** An element; strings become text nodes, empty children are left out. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(9).filter((each) => each !== null && each !== undefined && each !== ""));
  return made;
}

/** The class of a verdict's colour; folds by how often the KV cache is read. */
function styleOf(verdict, passes) {
  const style = WORDS[verdict].style;
  if (verdict !== "FOLDED") return `v-${style}`;
  return passes <= 2 ? "v-fold2" : passes <= 4 ? "v-fold4" : "v-fold8";
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

const MOST_CLAUSE = 160;

/** A clause of the source: where it is, and its text, of which a pointer shows the rest. */
function clause(at) {
  const [, file, line, said] = DATA.clauses[at];
  const whole = text(said);
  const long = whole.length > MOST_CLAUSE;
  const shown = el("code", { title: long && whole }, long ? `${whole.slice(0, MOST_CLAUSE)}\u2026` : whole);
  return [el("span", { class: "place" }, `${text(file)}:${line}`), " ", shown];
}

/** A command to copy; a click selects all of it. */
const command = (words) => el("code", { class: "command" }, words);

/** The panel that tells about what has the focus or the pointer. */
const panel = {
  made: null,
  pinned: null,
  usual: "Move the pointer or the focus over a cell: arrow keys move, Enter keeps, Escape lets go.",
  make() {
    this.made = el("aside", { id: "detail", "aria-label": "Detail" }, el("p", { class: "dim" }, this.usual));
    return this.made;
  },
  show(nodes) {
    this.made.replaceChildren(...nodes);
  },
  hover(maker) {
    if (this.pinned === null) this.show(maker());
  },
  pin(maker) {
    this.pinned = maker;
    document.body.classList.toggle("pinned", maker !== null);
    if (maker !== null) this.show(maker());
  },
  /** After everything was drawn anew. */
  again() {
    if (this.pinned !== null) this.show(this.pinned());
  },
};

/** Lets the arrow keys move the focus over the cells of a table, and Tab past it. */
function navigable(table) {
  const cellAt = (row, column) => table.querySelector(`[data-row="${row}"][data-column="${column}"]`);
  const first = cellAt(0, 0);
  if (first !== null) first.tabIndex = 0;
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("[data-row]");
    if (cell === null) return;
    const row = Number(cell.dataset.row);
    const column = Number(cell.dataset.column);
    const rows = table.tBodies[0].rows.length;
    const columns = table.tHead.rows[table.tHead.rows.length - 1].cells.length - 1;
    const to = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: [row, 0],
      End: [row, columns - 1],
      PageUp: [0, column],
      PageDown: [rows - 1, column],
    }[event.key];
    const next = to && cellAt(...to);
    if (!next) return;
    event.preventDefault();
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

/** Shows a cell's detail for the pointer and the focus; Enter or a click keeps it. */
function tells(cell, maker) {
  cell.addEventListener("pointerenter", () => panel.hover(maker));
  cell.addEventListener("focus", () => panel.hover(maker));
  cell.addEventListener("click", () => panel.pin(maker));
  cell.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      panel.pin(maker);
    }
  });
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") panel.pin(null);
});
