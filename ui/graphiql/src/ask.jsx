import { useEffect, useId, useRef } from "react";
import { isLedByAnother, outcome } from "./link.js";

/** Asks whether to use what a link brings; `onAnswer(true)` only for the button that says so. */
export function Ask({ link, kept, viewer, onAnswer }) {
  const dialog = useRef(null);
  const [title, text] = [useId(), useId()];
  useEffect(() => dialog.current.showModal(), []);
  const wanted = outcome(link, kept);
  return (
    <dialog ref={dialog} className="ask" aria-labelledby={title} aria-describedby={text} onClose={() => onAnswer(false)}>
      <h2 id={title}>{kept.token ? "Replace what this tab keeps?" : "Use what this link brings?"}</h2>
      <p id={text}>
        {isLedByAnother() ? "Another site led here. " : "A link was opened here. "}
        What you run afterwards, writes included, goes to the organization that the link names. Use it only if you know
        who made it.
      </p>
      <table>
        <thead>
          <tr>
            <td />
            <th scope="col">Kept now</th>
            <th scope="col">After the link</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">Token</th>
            <td>{inShort(kept.token)}</td>
            <td>{link.code ? "a new one of the demo" : link.token ? inShort(link.token) : "stays"}</td>
          </tr>
          <tr>
            <th scope="row">Organization</th>
            <td>{viewer?.organization?.name ?? (kept.organization || "none")}</td>
            <td>{link.code ? "the demo’s" : named(wanted.organization, viewer) || "the token’s own"}</td>
          </tr>
        </tbody>
      </table>
      <div className="ask-buttons">
        <button type="button" autoFocus onClick={() => onAnswer(false)}>
          {kept.token ? "Keep what is here" : "Do not use it"}
        </button>
        <button type="button" onClick={() => onAnswer(true)}>
          Use the link
        </button>
      </div>
    </dialog>
  );
}

function inShort(token) {
  return token ? `ends in …${token.slice(-4)}` : "none";
}

function named(id, viewer) {
  return viewer?.organizations.find((one) => one.id === id)?.name ?? id;
}
