import { pick, useGraphiQL } from "@graphiql/react";
import { useEffect, useId, useState } from "react";
import * as key from "./idempotency-key.js";

/** What stands beside the answer: how to get one, what it cost, and a key for writes (decision 901). */
export function Footer({ cost }) {
  return (
    <>
      <Hint />
      <div className="answer-foot">
        <p className="answer-cost" title={cost?.title}>
          {cost ? cost.text : "What an operation costs is shown here"}
        </p>
        <Key />
      </div>
    </>
  );
}

function Hint() {
  const { responseEditor } = useGraphiQL(pick("responseEditor"));
  const [isEmpty, setIsEmpty] = useState(true);
  useEffect(() => {
    if (!responseEditor) return undefined;
    const look = () => setIsEmpty(!responseEditor.getValue());
    look();
    const listening = responseEditor.onDidChangeModelContent(look);
    return () => listening.dispose();
  }, [responseEditor]);
  if (!isEmpty) return null;
  return (
    <p className="answer-hint">
      Run the operation with <kbd>Ctrl</kbd> <kbd>Enter</kbd> or the button ▶
      <br />
      and its answer appears here.
    </p>
  );
}

function Key() {
  const id = useId();
  const [value, setValue] = useState(key.load);
  const change = (given) => setValue(key.save(given));
  return (
    <div className="answer-key" title="A mutation that is sent again under the same key is done once">
      <label htmlFor={id}>Idempotency-Key</label>
      <input
        id={id}
        value={value}
        placeholder="for mutations; none"
        onChange={(event) => change(event.target.value)}
        autoComplete="off"
        spellCheck={false}
      />
      <button type="button" onClick={() => change(key.made())}>
        New key
      </button>
    </div>
  );
}
