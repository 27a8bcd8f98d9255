// What this page asks of the gateway, and the words for what it refuses.

export interface Thread {
  id: string;
  title: string | null;
  active_run_id: string | null;
  updated_at: string;
}

export interface Citation {
  start: number;
  end: number;
  kind: string;
  id: string;
  label: string;
}

export interface Message {
  id: string;
  run_id: string | null;
  role: "user" | "assistant";
  text: string;
  citations: Citation[];
  created_at: string;
}

export interface Viewer {
  subject: string;
  name: string | null;
  organization: { id: string; name: string } | null;
  organizations: { id: string; name: string }[];
}

/** A refusal: its code, and the gateway's words for it. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The caller's token and organization, kept until the tab is closed. */
export const caller = {
  get token(): string {
    return sessionStorage.getItem("crm-gateway:token") ?? "";
  },
  get organization(): string {
    return sessionStorage.getItem("crm-gateway:organization") ?? "";
  },
  keep(token: string, organization: string): void {
    sessionStorage.setItem("crm-gateway:token", visible(token.replace(/^\s*Bearer\s+/i, "")));
    sessionStorage.setItem("crm-gateway:organization", visible(organization));
  },
  leave(): void {
    sessionStorage.removeItem("crm-gateway:token");
    sessionStorage.removeItem("crm-gateway:organization");
  },
};

export const whoAmI = () => json<Viewer>("GET", "viewer");
export const threads = () => json<Thread[]>("GET", "chat/threads");
export const newThread = () => json<Thread>("POST", "chat/threads");
export const rename = (id: string, title: string) => json<Thread>("PATCH", `chat/threads/${id}`, { title: title || null });
export const remove = (id: string) => request("DELETE", `chat/threads/${id}`);
export const messages = (id: string) => json<Message[]>("GET", `chat/threads/${id}/messages?limit=500`);
export const cancel = (run: string) => request("POST", `chat/runs/${run}/cancel`);

/** Says yes or no to exactly what was shown: the hash is that of the arguments. */
export const decide = (approval: string, decision: "approve" | "reject", hash: string) =>
  json<{ status: string }>("POST", `chat/approvals/${approval}`, { decision, arguments_sha256: hash });

/** Sends a message. The answer is its run's stream. */
export const send = (thread: string, text: string) =>
  request("POST", `chat/threads/${thread}/messages`, {
    body: { text, time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone },
    headers: { Accept: "text/event-stream" },
  });

/** A run's events behind one of them, or all. */
export const events = (run: string, after: string | null) =>
  request("GET", `chat/runs/${run}/events`, {
    headers: { Accept: "text/event-stream", ...(after && { "Last-Event-ID": after }) },
  });

/** What a document gives, such as the one that a tool stands for. */
export async function ask<Data>(document: string, variables: object): Promise<Data> {
  const answer = await json<{ data: Data | null; errors?: { message: string }[] }>("POST", "graphql", {
    query: document,
    variables,
  });
  if (answer.data === null || answer.errors) {
    throw new Refused(200, "graphql", answer.errors?.map(({ message }) => message).join("; ") ?? "No answer");
  }
  return answer.data;
}

async function json<Body>(method: string, path: string, body?: object): Promise<Body> {
  return (await request(method, path, { body })).json() as Promise<Body>;
}

interface Sent {
  body?: object;
  headers?: object;
}

async function request(method: string, path: string, { body, headers }: Sent = {}): Promise<Response> {
  const answer = await fetch(`/${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${caller.token}`,
      // An organization's key names its own.
      ...(caller.organization && !caller.token.startsWith("ak_") && { "X-Service-Org": caller.organization }),
      ...(body && { "Content-Type": "application/json" }),
      ...headers,
    },
    body: body && JSON.stringify(body),
  });
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

/** What a member is told where the gateway's own words would not say what to do. */
const WORDS: Record<string, string> = {
  gone: "These steps are no longer kept.",
  precondition_failed: "The record has changed since it was shown: nothing was written. Ask again.",
  invalid_state: "This was decided already, or its time is over.",
  too_many_runs: "Too many answers are under way. Wait for one of them to end.",
  model_budget_spent: "Today's tokens of the organization are spent.",
};

async function refusal(answer: Response): Promise<Refused> {
  type Said = { code?: string; detail?: string | { msg: string; loc: string[] }[]; required_scopes?: string[] };
  const said = ((await answer.json().catch(() => null)) ?? {}) as Said;
  const { detail = `${answer.status} ${answer.statusText}`, code = "", required_scopes: scopes } = said;
  let words = typeof detail === "string" ? detail : detail.map(({ loc, msg }) => `${loc.at(-1)}: ${msg}`).join("; ");
  words = WORDS[code] ?? words;
  if (scopes) words += `. One of these scopes is needed: ${scopes.join(", ")}`;
  const wait = answer.headers.get("Retry-After");
  return new Refused(answer.status, code, wait ? `${words}. Again in ${wait} s.` : words);
}

/** Without line ends, and all else that a header cannot carry. */
const visible = (pasted: string) => pasted.replace(/[^\x21-\x7e]/g, "");
