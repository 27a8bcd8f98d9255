import { useState } from "react";
import { ask } from "./gateway";
import { RecordLink } from "./RecordLink";
import { rowsOf, RowsTable, type Row } from "./RowsTable";
import type { Cited, Tool } from "./run";

/** One call of a tool, which unfolds to what was asked and to the records that came. */
export function ToolCall({ tool, show }: { tool: Tool; show: (cited: Cited) => void }) {
  const [rows, setRows] = useState<Row[] | null>(null);
  const [refusal, setRefusal] = useState("");
  const { result, twin } = tool;

  /** The tool's own document, sent by this caller: the records as they are now, in full. */
  const look = async () => {
    try {
      setRows(rowsOf(await ask<Record<string, unknown>>(twin!.document, twin!.variables)));
    } catch (error) {
      setRefusal((error as Error).message);
    }
  };

  return (
    <details className="tool">
      <summary>
        <code>{tool.tool}</code> <span className="soft">{told(tool)}</span>
      </summary>
      <pre aria-label="Arguments">{JSON.stringify(tool.arguments, null, 2)}</pre>
      {result?.error && <p className="error">{result.error.message}</p>}
      {!!result?.records.length && (
        <ul className="records">
          {result.records.map((record) => (
            <li key={record.id}>
              <RecordLink cited={record} show={show} /> <span className="soft">{record.kind}</span>
            </li>
          ))}
        </ul>
      )}
      {twin && tool.effect === "read" && result?.ok && !rows && <button onClick={() => void look()}>Show as a table</button>}
      {rows && <RowsTable rows={rows} caption={tool.tool} show={show} />}
      {refusal && <p className="error">{refusal}</p>}
    </details>
  );
}

function told({ effect, result }: Tool): string {
  if (!result) return effect === "write" ? "waits for a decision" : "…";
  if (!result.ok) return "was refused";
  if (effect === "write") return "was written";
  if (result.rows === null || result.rows === undefined) return "found it";
  return `${result.rows} ${result.rows === 1 ? "row" : "rows"}${result.truncated ? ", cut" : ""}`;
}
