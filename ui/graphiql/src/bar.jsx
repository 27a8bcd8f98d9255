import { useId, useState } from "react";
import { canSignIn } from "./signin.js";
import { Who } from "./who.jsx";

export function Bar({ credentials, answer, notice, onChange, onForget, onSignIn }) {
  const { token, organization } = credentials;
  return (
    <header className="bar">
      <h1>
        <a href="./" title="What is here">
          CRM gateway
        </a>
      </h1>
      <Token value={token} onChange={(value) => onChange({ token: value, organization })} />
      {canSignIn && (!token || answer.state === "refused") && (
        <button type="button" className="bar-sign-in" onClick={onSignIn}>
          Sign in
        </button>
      )}
      <Organizations
        viewer={answer.viewer}
        chosen={organization}
        onChange={(value) => onChange({ token, organization: value })}
      />
      {token && answer.viewer && <Who viewer={answer.viewer} onForget={onForget} />}
      <Status answer={answer} notice={notice} />
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

function Token({ value, onChange }) {
  const id = useId();
  const [shown, setShown] = useState(false);
  return (
    <div className="bar-field bar-token">
      <label htmlFor={id}>Token</label>
      <input
        id={id}
        type={shown ? "text" : "password"}
        value={value}
        placeholder="paste a session token, ak_… or pat_…"
        onChange={(event) => onChange(event.target.value)}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        data-1p-ignore
      />
      {value && (
        <button type="button" aria-pressed={shown} onClick={() => setShown(!shown)}>
          {shown ? "Hide" : "Show"}
        </button>
      )}
    </div>
  );
}

function Organizations({ viewer, chosen, onChange }) {
  const id = useId();
  const all = viewer?.organizations ?? [];
  const active = viewer?.organization;
  // A key's own organization is its only one.
  const listed = active && !all.some((one) => one.id === active.id) ? [active, ...all] : all;
  const value = listed.some((one) => one.id === chosen) ? chosen : (active?.id ?? "");
  const isFixed = viewer?.credentialKind === "ORGANIZATION_KEY" || listed.length < 1;
  return (
    <div className="bar-field">
      <label htmlFor={id}>Organization</label>
      <select id={id} value={value} disabled={isFixed} onChange={(event) => onChange(event.target.value)}>
        {!value && <option value="">{viewer ? "choose one …" : "—"}</option>}
        {listed.map((one) => (
          <option key={one.id} value={one.id} title={one.id}>
            {one.name}
          </option>
        ))}
      </select>
    </div>
  );
}

function Status({ answer, notice }) {
  const { kind, text } = notice ?? stateInWords(answer);
  return (
    <p className={`bar-status bar-status-${kind}`} role="status" title={text}>
      {text}
    </p>
  );
}

function stateInWords({ state, viewer }) {
  if (state === "nobody") return { kind: "waiting", text: "Paste a token to run operations" };
  if (state === "refused") return { kind: "refused", text: "The service refused this token" };
  if (state === "silent") return { kind: "refused", text: "The service does not say who this is" };
  if (!viewer) return { kind: "asking", text: "Asking who this is …" };
  if (!viewer.organization) return { kind: "waiting", text: "Choose an organization" };
  return { kind: "ready", text: "Kept in this tab only" };
}
