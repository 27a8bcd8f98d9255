import { type FormEvent, useState } from "react";
import type { Caller } from "./client";
import { Problem } from "./Desk";

const visible = (pasted: string) => pasted.replace(/^\s*Bearer\s+/i, "").replace(/[^\x21-\x7e]/g, "");

export function SignIn({ isRefused, onSignIn }: { isRefused: boolean; onSignIn: (caller: Caller) => void }) {
  const [token, setToken] = useState("");
  const [organization, setOrganization] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (visible(token)) onSignIn({ token: visible(token), organization: visible(organization) });
  };
  return (
    <form className="sign-in" onSubmit={submit} autoComplete="off">
      <h1>Sales desk</h1>
      {isRefused && <Problem words="This token does not hold, or no longer. Sign in again." />}
      <p>Paste the key and the organization that <code>./run</code> printed.</p>
      <label>
        Token
        <input type="password" value={token} onChange={(event) => setToken(event.target.value)} autoFocus required />
      </label>
      <label>
        Organization
        <input value={organization} onChange={(event) => setOrganization(event.target.value)} placeholder="not for ak_… keys" />
      </label>
      <button type="submit">Sign in</button>
    </form>
  );
}
