// What the gateway tells of an answer: the events of docs/analytics.md, and the result of a statement.

export type Value = string | number | boolean | null;

export interface Column {
  name: string;
  label: string;
  kind: "text" | "integer" | "decimal" | "float" | "date" | "datetime" | "boolean" | "id";
  unit: string | null;
  currency_column: string | null;
}

export interface Statement {
  text: string;
  dialect: string;
  tables: string[];
  filters: string[];
}

export interface Chart {
  kind: "number" | "table" | "bar" | "line" | "stacked_bar";
  spec: Record<string, unknown> | null;
}

export interface Result {
  columns: Column[];
  rows: Value[][];
  row_count: number;
  truncated: boolean;
  sql: Statement;
  chart: Chart;
  duration_ms: number;
}

interface Told {
  run_started: { run_id: string; conversation_id: string; question: string };
  plan: { planner: string; query: object | null; assumptions: string[]; follows_run_id: string | null };
  sql: Statement;
  columns: { columns: Column[] };
  rows: { offset: number; rows: Value[][] };
  chart: Chart;
  explanation: { text: string };
  notice: { code: string; message: string };
  error: { code: string; message: string; retryable: boolean; layer: string | null };
  run_finished: {
    status: "succeeded" | "declined" | "failed" | "cancelled" | "timed_out" | "interrupted";
    row_count: number;
    truncated: boolean;
    duration_ms: number;
    unread: string[];
    suggestions: string[];
  };
}

/** A step of an answer: its number, its kind, and what it tells. */
export type Step = { [Kind in keyof Told]: { id: number; kind: Kind; data: Told[Kind] } }[keyof Told];

/** The steps of an event stream, as they arrive. */
export async function* stepsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Step> {
  let text = "";
  const pieces = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
    const events = (text + piece.value).split("\n\n");
    text = events.pop()!;
    for (const event of events) {
      const fields = new Map(event.split("\n").map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
      const data = fields.get("data"); // comments, and the time to wait before another try, have none
      if (data) yield { id: Number(fields.get("id")), kind: fields.get("event"), data: JSON.parse(data) } as Step;
    }
  }
}
