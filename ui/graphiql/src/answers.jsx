import { pick, useGraphiQL } from "@graphiql/react";
import { useEffect } from "react";

let clear = () => {};

/** Clear the answers of all tabs, the one on the screen included. */
export function clearAnswers() {
  clear();
}

/** Gives `clearAnswers` its hold on GraphiQL; shows nothing. */
export function Answers() {
  const { responseEditor, tabs } = useGraphiQL(pick("responseEditor", "tabs"));
  useEffect(() => {
    clear = () => {
      // GraphiQL has an action for the tab on the screen alone, and reads the others when they are opened.
      for (const tab of tabs) tab.response = null;
      responseEditor?.setValue("");
    };
    return () => {
      clear = () => {};
    };
  }, [responseEditor, tabs]);
  return null;
}
