// Tables that become cards on a phone. Roles are said outright: some browsers forget them when cells are laid out anew.

import { make } from "../shared/elements.js";

/**
 * Rows with `isSum` stand out.
 * @param columns [{name, number?, of(row) -> text or element(s)}]; the first names the row
 * @param foot a row of texts, or nothing
 * @param cards false: it stays a table however narrow the screen
 */
export function table({ caption, columns, rows, foot, cards = true }) {
  return make(
    "table",
    { class: cards ? "cards" : "compact", role: "table" },
    make("caption", { class: "visually-hidden" }, caption),
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, columns.map(head))),
    make("tbody", { role: "rowgroup" }, rows.map((row) => bodyRow(columns, row))),
    foot ? make("tfoot", { role: "rowgroup" }, make("tr", { role: "row" }, foot.map((text, at) => cell(columns[at], text)))) : null,
  );
}

const head = (column) => make("th", { scope: "col", role: "columnheader", class: column.number ? "number" : null }, column.name);

function bodyRow(columns, row) {
  const [first, ...rest] = columns;
  const name = make("th", { scope: "row", role: "rowheader", class: "row-name" }, first.of(row));
  return make("tr", { role: "row", class: row.isSum ? "sum" : null }, name, rest.map((column) => cell(column, column.of(row))));
}

function cell(column, inside) {
  return make("td", { role: "cell", class: column.number ? "number" : null, "data-label": column.name }, make("div", {}, inside));
}
