// Rows as people read them: a figure, or a table.

import type { Column, Value } from "./answers";
import { element } from "./dom";

const NUMBERS = ["integer", "decimal", "float"];
const UNITS: Record<string, string> = { days: "days", minutes: "minutes" };

/** One figure, or each of its currencies, in large type. */
export function figureOf(columns: Column[], rows: Value[][]): HTMLElement {
  const figures = columns.filter((column) => NUMBERS.includes(column.kind));
  const shown = rows.flatMap((row) =>
    figures.map((column) =>
      element("div", {}, element("dt", {}, column.label), element("dd", {}, textOf(column, row, columns))),
    ),
  );
  return element("dl", { class: "figure" }, ...shown);
}

/** The rows as a table that scrolls within its own frame, by keyboard too. */
export function tableOf(columns: Column[], rows: Value[][]): HTMLElement {
  const shown = columns.map((column, index) => ({ column, index })).filter(({ column }) => column.kind !== "id");
  const side = (column: Column) => ({ class: NUMBERS.includes(column.kind) ? "number" : column.kind });
  const head = shown.map(({ column }) => element("th", { scope: "col", ...side(column) }, column.label));
  const body = rows.map((row) =>
    element("tr", {}, ...shown.map(({ column, index }) => element("td", side(column), cell(column, row[index] ?? null)))),
  );
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" },
    element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body)),
  );
}

function textOf(column: Column, row: Value[], columns: Column[]): string {
  const value = row[columns.indexOf(column)] ?? null;
  const currency = columns.findIndex(({ name }) => name === column.currency_column);
  const unit = currency < 0 ? UNITS[column.unit ?? ""] : row[currency];
  return value === null || !unit ? cell(column, value) : `${cell(column, value)} ${unit}`;
}

function cell(column: Column, value: Value): string {
  if (value === null) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (column.kind === "datetime") return String(value).replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");
  if (!NUMBERS.includes(column.kind)) return String(value);
  // Exact decimals are texts: grouped as texts too, since a number would round them.
  const [whole = "", part] = String(value).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return (part ? `${grouped}.${part}` : grouped) + (column.unit === "percent" ? " %" : "");
}
