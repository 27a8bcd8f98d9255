import { useState } from "react";
import { decide } from "./gateway";
import { RecordLink } from "./RecordLink";
import type { Approval, Cited } from "./run";
import { told, worded, words } from "./values";

const DECIDED: Record<string, string> = {
  approved: "Approved.",
  executed: "Approved, and written.",
  failed: "Approved, but refused by the service.",
  rejected: "Rejected: nothing was written.",
  stale: "The record changed meanwhile: nothing was written.",
  expired: "It was not decided: nothing was written.",
};

/** A write that waits for the member: what it would change, from what to what. */
export function Proposal({ approval, show }: { approval: Approval; show: (cited: Cited) => void }) {
  const [isDeciding, setDeciding] = useState(false);
  const [refusal, setRefusal] = useState("");
  const { preview, status } = approval;
  const fields = [...new Set([...Object.keys(preview.before ?? {}), ...Object.keys(preview.after ?? {})])];

  const say = async (decision: "approve" | "reject") => {
    setDeciding(true);
    setRefusal("");
    try {
      await decide(approval.id, decision, approval.hash);
    } catch (error) {
      setRefusal((error as Error).message);
    }
    setDeciding(false);
  };

  return (
    <section className="proposal" aria-label={`Proposed: ${approval.tool}`}>
      <h3>
        {preview.before ? "Change" : "New"} {preview.kind}{" "}
        {preview.id && preview.label ? (
          <RecordLink cited={{ kind: preview.kind, id: preview.id, label: preview.label }} show={show} />
        ) : (
          preview.label
        )}
      </h3>
      <div className="scroll" tabIndex={0} role="region" aria-label="Before and after">
        <table>
          <thead>
            <tr>
              <th>Field</th>
              {preview.before && <th>Before</th>}
              <th>After</th>
            </tr>
          </thead>
          <tbody>
            {fields.map((name) => (
              <tr key={name}>
                <th scope="row">{worded(name)}</th>
                {preview.before && <td className="before">{words(told(preview.before[name]))}</td>}
                <td className="after">{words(told(preview.after?.[name]))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {status === "pending" ? (
        <p className="decision">
          <button className="primary" disabled={isDeciding} onClick={() => void say("approve")}>
            Approve
          </button>
          <button disabled={isDeciding} onClick={() => void say("reject")}>
            Reject
          </button>
          <span className="soft">until {new Date(approval.expiresAt).toLocaleTimeString([], { timeStyle: "short" })}</span>
        </p>
      ) : (
        <p className={`decided ${status}`}>{DECIDED[status] ?? status}</p>
      )}
      {refusal && (
        <p className="error" role="alert">
          {refusal}
        </p>
      )}
    </section>
  );
}
