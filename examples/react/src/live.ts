import { useApolloClient, useSubscription } from "@apollo/client/react";
import { useRef, useState } from "react";
import { happened } from "./operations";
import { sentence } from "./words";

const TOGETHER_MS = 200;

/** Follow the change log: the newest event in words, and what is on the screen is asked for again. */
export function useNews() {
  const client = useApolloClient();
  const [latest, setLatest] = useState<string>();
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  const { error } = useSubscription(happened, {
    ignoreResults: true,
    onData: ({ data: { data } }) => {
      if (!data) return;
      const { type, data: about, actorMember } = data.events;
      setLatest(sentence(type, about, actorMember?.name ?? undefined));
      // Many events at once, as of an import, are one look.
      clearTimeout(waiting.current);
      waiting.current = setTimeout(() => void client.refetchQueries({ include: "active" }), TOGETHER_MS);
    },
  });
  return { latest, problem: error && `Nothing live: ${error.message}` };
}
