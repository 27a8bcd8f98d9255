import { RecordLink } from "./RecordLink";
import type { Cited } from "./run";
import { told, worded, words } from "./values";

export type Row = Record<string, unknown>;

/** Amounts, days and moments, which stay on one line. */
const FIGURE = /^-?\d[\d.,:TZ+-]*$/;
const KINDS = new Set(["account", "contact", "deal", "lead", "meeting", "campaign"]);

/** The rows of an answer, wherever they stand in it; an answer without a list is one row. */
export function rowsOf(data: Record<string, unknown>): Row[] {
  const [value] = Object.values(data);
  const list = Array.isArray(value) ? value : ((value as Row | null)?.nodes ?? (value as Row | null)?.edges);
  if (!Array.isArray(list)) return value && typeof value === "object" ? [value as Row] : [];
  return list.map((row: Row) => (row && typeof row.node === "object" ? (row.node as Row) : row));
}

/** Rows as a table. A cell that is a record by itself leads to it. */
export function RowsTable({ rows, caption, show }: { rows: Row[]; caption: string; show: (cited: Cited) => void }) {
  if (!rows.length) return <p className="soft">No rows.</p>;
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => name !== "id" && name !== "__typename");
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={`Rows of ${caption}`}>
      <table>
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name}>{worded(name)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            <tr key={String(row.id ?? place)}>
              {names.map((name) => (
                <td key={name} className={FIGURE.test(String(row[name])) ? "figure" : ""}>
                  <Cell name={name} value={row[name]} show={show} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ name, value, show }: { name: string; value: unknown; show: (cited: Cited) => void }) {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return words(told(value));
  const record = value as Row;
  const label = String(record.name ?? record.subject ?? record.email ?? "");
  if (typeof record.id === "string" && label && KINDS.has(name)) {
    const cited = { kind: name, id: record.id, label };
    return <RecordLink cited={cited} show={show} />;
  }
  return words(told(value));
}
