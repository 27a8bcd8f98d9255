import { pick, useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import { useLayoutEffect, useRef } from "react";

/** Runs what was asked for before there were editors: the button comes first, and its click did nothing. Shows nothing. */
export function EarlyRun() {
  const { queryEditor, variableEditor, responseEditor } = useGraphiQL(
    pick("queryEditor", "variableEditor", "responseEditor"),
  );
  const { run } = useGraphiQLActions();
  const isAsked = useRef(false);
  const isReady = Boolean(queryEditor && variableEditor && responseEditor);
  // Before the button is painted, so that no click comes earlier.
  useLayoutEffect(() => {
    if (isReady) {
      if (isAsked.current) run();
      isAsked.current = false;
      return undefined;
    }
    const note = (event) => {
      if (!event.target.closest(".graphiql-execute-button")) return;
      event.stopPropagation(); // two editors are enough for the button's own click: a change would be made twice
      isAsked.current = true;
    };
    addEventListener("click", note, true);
    return () => removeEventListener("click", note, true);
  }, [isReady, run]);
  return null;
}
