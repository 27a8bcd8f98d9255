// What the events of a run come to: its text, its tools, what waits for a decision.

import type { Citation } from "./gateway";

// JSON of the gateway, whose fields are those of its documentation.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Data = Record<string, any>;

export interface RunEvent {
  id: string;
  sequence: number;
  type: string;
  data: Data;
}

export interface Cited {
  kind: string;
  id: string;
  label: string;
}

export interface Tool {
  id: string;
  tool: string;
  arguments: unknown;
  effect: string;
  twin: { document: string; variables: object } | null;
  result: { ok: boolean; records: Cited[]; rows: number | null; truncated: boolean; error: { message: string } | null } | null;
}

export interface Approval {
  id: string;
  callId: string;
  tool: string;
  hash: string;
  preview: { kind: string; id: string | null; label: string | null; before: Data | null; after: Data | null };
  expiresAt: string;
  status: string;
}

export interface Run {
  id: string | null;
  model: string | null;
  texts: { sequence: number; text: string }[];
  citations: Citation[];
  tools: Tool[];
  approvals: Approval[];
  notices: string[];
  error: string | null;
  /** running, then succeeded, failed or cancelled. */
  status: string;
}

export const NOTHING: Run = {
  id: null,
  model: null,
  texts: [],
  citations: [],
  tools: [],
  approvals: [],
  notices: [],
  error: null,
  status: "running",
};

export const textOf = (run: Run) => run.texts.map(({ text }) => text).join("");
export const isWaiting = (run: Run) => run.status === "running" && run.approvals.some(({ status }) => status === "pending");

/** The run with one more event. */
export function after(run: Run, { type, sequence, data }: RunEvent): Run {
  switch (type) {
    case "run_started":
      return { ...run, id: data.run_id, model: data.model };
    case "run_resumed":
      return { ...run, texts: run.texts.filter((piece) => piece.sequence <= data.discard_after) };
    case "text_delta":
      return { ...run, texts: [...run.texts, { sequence, text: data.text }] };
    case "citation":
      return { ...run, citations: [...run.citations, data as Citation] };
    case "tool_call": {
      const { call_id: id, tool, arguments: given, effect, twin } = data;
      return { ...run, tools: [...run.tools, { id, tool, arguments: given, effect, twin, result: null }] };
    }
    case "tool_result":
      return {
        ...run,
        tools: run.tools.map((tool) => (tool.id === data.call_id ? { ...tool, result: data as Tool["result"] } : tool)),
      };
    case "approval_required":
      return {
        ...run,
        approvals: [
          ...run.approvals,
          {
            id: data.approval_id,
            callId: data.call_id,
            tool: data.tool,
            hash: data.arguments_sha256,
            preview: data.preview,
            expiresAt: data.expires_at,
            status: "pending",
          },
        ],
      };
    case "approval_decided":
      return {
        ...run,
        approvals: run.approvals.map((one) => (one.id === data.approval_id ? { ...one, status: data.status } : one)),
      };
    case "warning":
      return { ...run, notices: [...run.notices, data.message] };
    case "error":
      return { ...run, error: data.message };
    case "run_finished":
      return { ...run, status: data.status };
    default:
      return run;
  }
}
