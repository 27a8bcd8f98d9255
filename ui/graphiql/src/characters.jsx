import { pick, useGraphiQL } from "@graphiql/react";
import { useEffect } from "react";

// Names and notes are people's own, in which a dash is no letter that pretends to be another one.
const AS_THEY_ARE = { unicodeHighlight: { ambiguousCharacters: false, invisibleCharacters: false } };

/** Takes away the boxes around dashes, quotation marks and the like of answers; shows nothing. */
export function Characters() {
  const { responseEditor } = useGraphiQL(pick("responseEditor"));
  useEffect(() => {
    responseEditor?.updateOptions(AS_THEY_ARE);
  }, [responseEditor]);
  return null;
}
