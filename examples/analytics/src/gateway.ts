// What this page asks of the gateway. It serves the page too, or a server that passes these paths on (serve.py).

import { stepsOf, type Result, type Step } from "./answers";

const RETRY_MS = 1000;
const RETRIES = 30;

/** A refusal, in the gateway's words. */
export class Refused extends Error {}

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
};

export const viewer = () => json<{ name: string | null; subject: string; organization: { name: string } | null }>("viewer");

export const examples = async () => (await json<{ examples: string[] }>("analytics/catalog")).examples;

export const runStatement = (sql: string) => json<Result>("analytics/sql", { sql });

/**
 * Asks, and tells every step once. The work goes on where a connection breaks: the page follows it from the last step
 * that it has seen.
 */
export async function* ask(question: string, conversation: string | null): AsyncGenerator<Step> {
  const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const asked = { question, time_zone, ...(conversation && { conversation_id: conversation }) };
  const headers = { Accept: "text/event-stream" };
  let answer: Response | null = await request("analytics/ask", { body: asked, headers });
  let run = "";
  let last = 0;
  for (let retries = 0; retries < RETRIES; retries++) {
    try {
      answer ??= await request(`analytics/runs/${run}/events`, { headers: { ...headers, "Last-Event-ID": String(last) } });
      for await (const step of stepsOf(answer.body!)) {
        if (step.kind === "run_started") run = step.data.run_id;
        last = step.id;
        yield step;
        if (step.kind === "run_finished") return;
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // which is what fetch says of a connection that broke
    }
    if (!run) break;
    answer = null;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  throw new Refused("The answer was cut off. Ask again.");
}

async function json<Body>(path: string, body?: object): Promise<Body> {
  return (await request(path, { body })).json() as Promise<Body>;
}

async function request(path: string, { body, headers }: { body?: object; headers?: object } = {}): Promise<Response> {
  const answer = await fetch(path, {
    method: body ? "POST" : "GET",
    headers: {
      Authorization: `Bearer ${caller.token}`,
      // An organization's key names its own.
      ...(caller.organization && !caller.token.startsWith("ak_") && { "X-Service-Org": caller.organization }),
      ...(body && { "Content-Type": "application/json" }),
      ...headers,
    },
    body: body && JSON.stringify(body),
  });
  if (!answer.ok) throw new Refused(await reason(answer));
  return answer;
}

async function reason(answer: Response): Promise<string> {
  const said = (await answer.json().catch(() => null)) as { detail?: string | { msg: string; loc: string[] }[] } | null;
  const detail = said?.detail ?? `Refused: ${answer.status} ${answer.statusText}`;
  const words = typeof detail === "string" ? detail : detail.map(({ loc, msg }) => `${loc.at(-1)}: ${msg}`).join("; ");
  const wait = answer.headers.get("Retry-After");
  return wait ? `${words}. Again in ${wait} s.` : words;
}

/** Without line ends, and all else that a header cannot carry. */
const visible = (pasted: string) => pasted.replace(/[^\x21-\x7e]/g, "");
