import { ToolbarButton, pick, tryParseJSONC, useGraphiQL } from "@graphiql/react";
import * as credentials from "./credentials.js";
import { asCurl } from "./curl.js";
import * as key from "./idempotency-key.js";

export function CopyAsCurl({ onSay }) {
  const { queryEditor, variableEditor, operationName } = useGraphiQL(
    pick("queryEditor", "variableEditor", "operationName"),
  );

  async function copy() {
    let variables;
    try {
      variables = tryParseJSONC(variableEditor?.getValue());
    } catch {
      onSay("Not copied: the variables are not valid JSON");
      return;
    }
    const organization = credentials.headers()["x-service-org"];
    await write(asCurl({ query: queryEditor?.getValue() ?? "", variables, operationName, organization, key: key.load() }));
    onSay("Copied; the command takes the token from CRM_TOKEN");
  }

  return (
    <ToolbarButton label="Copy as curl" onClick={copy}>
      <svg className="graphiql-toolbar-icon" viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
        <rect x="1.5" y="3" width="17" height="14" rx="3" />
        <path d="M5 8l3 2.5L5 13M10 13.5h5" strokeLinecap="round" strokeLinejoin="round" />
      </svg>
    </ToolbarButton>
  );
}

async function write(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // Over plain HTTP from another machine a page has no clipboard but this way.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
