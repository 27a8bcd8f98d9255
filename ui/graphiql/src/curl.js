import { stripIgnoredCharacters } from "graphql";
import { ENDPOINT } from "./endpoint.js";
import { chosen } from "./operation.js";

/**
 * The operation as a command for a POSIX shell. The token is not in it, so that it gets into no chat, ticket or shell
 * history: the shell takes it from CRM_TOKEN, and says so where that is empty (decision 93).
 */
export function asCurl({ query, variables, operationName, organization, key }) {
  const body = { query: short(query) };
  if (variables && Object.keys(variables).length > 0) body.variables = variables;
  const { name, kind } = chosen(query, operationName);
  if (name) body.operationName = name;
  const isStream = kind === "subscription";
  const lines = [
    `curl ${isStream ? "--no-buffer" : "--silent --show-error"} ${quoted(ENDPOINT)}`,
    `--header 'Content-Type: application/json'`,
    '--header "Authorization: Bearer ${CRM_TOKEN:?has to hold the token}"',
  ];
  if (organization) lines.push(`--header ${quoted(`X-Service-Org: ${organization}`)}`);
  if (key && kind === "mutation") lines.push(`--header ${quoted(`Idempotency-Key: ${key}`)}`);
  if (isStream) lines.push("--header 'Accept: text/event-stream'");
  lines.push(`--data-raw ${quoted(JSON.stringify(body))}`);
  return `${lines.join(" \\\n  ")}\n`;
}

function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function short(query) {
  try {
    return stripIgnoredCharacters(query);
  } catch {
    return query; // the service says what is wrong with it
  }
}
