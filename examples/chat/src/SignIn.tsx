import { useState, type FormEvent } from "react";
import { caller } from "./gateway";

/** Asks for the token that the service printed. It stays in this tab. */
export function SignIn({ refusal, enter }: { refusal: string; enter: () => Promise<void> }) {
  const [isEntering, setEntering] = useState(false);

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    caller.keep(String(form.get("token")), String(form.get("organization")));
    setEntering(true);
    await enter();
    setEntering(false);
  };

  return (
    <form className="sign-in" onSubmit={(event) => void submit(event)}>
      <h1>CRM chat</h1>
      <p>Ask about deals, meetings and accounts, and write down what happened. Nothing is written before you approve it.</p>
      <label>
        Token
        <input name="token" type="password" autoComplete="off" spellCheck={false} defaultValue={caller.token} required autoFocus />
      </label>
      <label>
        Organization
        <input name="organization" autoComplete="off" spellCheck={false} defaultValue={caller.organization} />
      </label>
      {refusal && (
        <p className="error" role="alert">
          {refusal}
        </p>
      )}
      <button className="primary" disabled={isEntering}>
        {isEntering ? "Signing in …" : "Sign in"}
      </button>
      <p className="soft">Both are printed by the service when it starts. They are forgotten with this tab.</p>
    </form>
  );
}
