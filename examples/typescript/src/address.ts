// Where the gateway is, and who calls it: CRM_URL and CRM_TOKEN, as `./run` prints them.
const base = process.env.CRM_URL ?? "http://127.0.0.1:8000";

export const url = `${base}/graphql`;
export const socketUrl = url.replace(/^http/, "ws");
export const headers: Record<string, string> = { authorization: `Bearer ${process.env.CRM_TOKEN ?? ""}` };

/** Says what an example found, one line each, as JSON. */
export function say(what: string, found: unknown): void {
  console.log(JSON.stringify({ [what]: found }));
}
