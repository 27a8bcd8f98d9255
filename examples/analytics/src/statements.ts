import type { Statement, Value } from "./answers";

// Texts and quoted names, which are left alone, or a place for a parameter: ? on SQLite, $1 on PostgreSQL.
const PLACES = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\?|\$(\d+)/g;

/** The statement with its parameters written into it, as it can be run by itself. */
export function filledIn({ text, parameters }: Statement): string {
  let next = 0;
  return text.replace(PLACES, (found, number?: string) => {
    if (found !== "?" && !number) return found;
    return literal(parameters[number ? Number(number) - 1 : next++] ?? null);
  });
}

function literal(value: Value): string {
  return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value).toUpperCase();
}
