import { useId, useState } from "react";
import { namesItsOrganization, needsOrganization } from "./credentials.js";

export function Bar({ credentials, onChange, refused }) {
  const { token, organization } = credentials;
  const ownOrganization = namesItsOrganization(token);
  return (
    <header className="bar">
      <a className="bar-name" href="./" title="What is here">
        CRM gateway
      </a>
      <Field
        label="Token"
        placeholder="paste a session token, ak_… or pat_…"
        value={token}
        secret
        onChange={(value) => onChange({ token: value, organization })}
      />
      <Field
        label="Organization"
        placeholder={ownOrganization ? "the key names its own" : "organization id"}
        value={ownOrganization ? "" : organization}
        disabled={ownOrganization}
        onChange={(value) => onChange({ token, organization: value })}
      />
      <Status token={token} organization={organization} refused={refused} />
      <nav className="bar-links">
        <a href="graphql/schema.graphql" title="The schema as text (SDL)">
          Schema
        </a>
        <a href="docs" title="The REST paths, in Swagger UI">
          REST
        </a>
      </nav>
    </header>
  );
}

function Field({ label, value, onChange, secret = false, ...input }) {
  const id = useId();
  const [shown, setShown] = useState(false);
  return (
    <div className={secret ? "bar-field bar-field-wide" : "bar-field"}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type={secret && !shown ? "password" : "text"}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        data-1p-ignore
        {...input}
      />
      {secret && value && (
        <button type="button" aria-pressed={shown} onClick={() => setShown(!shown)}>
          {shown ? "Hide" : "Show"}
        </button>
      )}
    </div>
  );
}

function Status({ token, organization, refused }) {
  let kind = "ready";
  let text = "Kept in this tab only";
  if (refused) {
    kind = "refused";
    text = "The service refused this token";
  } else if (!token) {
    kind = "waiting";
    text = "Paste a token to run operations";
  } else if (!organization && needsOrganization(token)) {
    kind = "waiting";
    text = "A user token needs an organization id";
  }
  return (
    <p className={`bar-status bar-status-${kind}`} role="status">
      {text}
    </p>
  );
}
