import { canSignIn } from "./signin.js";

const KINDS = {
  SESSION: "session token",
  ORGANIZATION_KEY: "organization key",
  USER_TOKEN: "user token",
};

/** Who is calling, with which scopes: a button in the bar, and what it opens. */
export function Who({ viewer, onForget }) {
  const { subject, name, email, credentialKind, organization, scopes } = viewer;
  return (
    <>
      <button type="button" className="bar-who" popoverTarget="who" aria-haspopup="dialog">
        <b>{name ?? subject}</b> · {scopes.length} {scopes.length === 1 ? "scope" : "scopes"}
        <span aria-hidden="true"> ▾</span>
      </button>
      <section id="who" className="who" popover="auto" aria-label="Who am I">
        <dl>
          <dt>Subject</dt>
          <dd>
            <code>{subject}</code>
          </dd>
          {email && (
            <>
              <dt>E-mail</dt>
              <dd>{email}</dd>
            </>
          )}
          <dt>Credential</dt>
          <dd>{KINDS[credentialKind] ?? credentialKind}</dd>
          <dt>Acts in</dt>
          <dd>{organization ? organization.name : "no organization yet"}</dd>
          {organization && (
            <>
              <dt>X-Service-Org</dt>
              <dd>
                <code>{organization.id}</code>
              </dd>
            </>
          )}
        </dl>
        <h2>Scopes</h2>
        <ul>
          {[...byNoun(scopes)].map(([noun, actions]) => (
            <li key={noun}>
              <code>{noun}</code> {actions.join(", ")}
            </li>
          ))}
        </ul>
        <button type="button" onClick={onForget}>
          Forget the token
        </button>
        {canSignIn && (
          <p>
            <a href="oauth/logout">Sign out of this browser</a>
          </p>
        )}
      </section>
    </>
  );
}

// A scope is `noun:action`.
function byNoun(scopes) {
  const found = new Map();
  for (const scope of scopes) {
    const [noun, action] = scope.split(":");
    found.set(noun, [...(found.get(noun) ?? []), action]);
  }
  return found;
}
