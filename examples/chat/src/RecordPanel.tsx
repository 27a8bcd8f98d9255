import { useEffect, useRef, useState } from "react";
import { ask } from "./gateway";
import type { Cited } from "./run";
import { told, worded, words } from "./values";

const FIELDS: Record<string, string> = {
  account: "name domain owner { name } createdAt updatedAt",
  contact: "firstName lastName email phone title account { name } updatedAt",
  deal: "name status value currency closeDate stage { name } account { name } owner { name } updatedAt",
  lead: "name company email phone status source createdAt",
  meeting: "subject dueAt completedAt durationMinutes body account { name } deal { name } owner { name }",
  campaign: "name status dailyLimit timezone createdAt",
};

/** The record that a citation names, as it is now. */
export function RecordPanel({ cited, close }: { cited: Cited; close: () => void }) {
  const [record, setRecord] = useState<Record<string, unknown> | null>(null);
  const [notice, setNotice] = useState("…");
  const dialog = useRef<HTMLDialogElement>(null);

  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  useEffect(() => {
    const fields = FIELDS[cited.kind];
    if (!fields) return setNotice(`There is nothing more to see of this ${cited.kind} here.`);
    ask<{ record: Record<string, unknown> | null }>(
      `query Record($id: ID!) { record: ${cited.kind}(id: $id) { ${fields} } }`,
      { id: cited.id },
    )
      .then(({ record: found }) => {
        setRecord(found);
        setNotice("It is gone, or you may no longer read it.");
      })
      .catch((error: Error) => setNotice(error.message));
  }, [cited]);

  return (
    <dialog ref={dialog} className="record" aria-label={cited.label} onClose={close}>
      <header>
        <div>
          <span className="soft">{cited.kind}</span>
          <h2>{cited.label}</h2>
        </div>
        <button onClick={() => dialog.current?.close()}>Close</button>
      </header>
      {record ? (
        <dl>
          {Object.entries(record)
            .filter(([, value]) => value !== null && value !== "")
            .map(([name, value]) => (
              <div key={name}>
                <dt>{worded(name)}</dt>
                <dd>{words(told(value))}</dd>
              </div>
            ))}
        </dl>
      ) : (
        <p className="soft">{notice}</p>
      )}
    </dialog>
  );
}
