import { createClient } from "graphql-ws";
import { headers } from "./credentials.js";
import { ENDPOINT, problem } from "./endpoint.js";

const SOCKET = ENDPOINT.replace(/^http/, "ws");
const running = new Set();

/** A subscription over a socket of its own (graphql-transport-ws), as the observable that GraphiQL takes. */
export function stream(operation, { onAnswer, onDoubt }) {
  return {
    subscribe(observer) {
      const client = createClient({
        url: SOCKET,
        connectionParams: headers,
        // Connecting again would start over where the operation started: the reader decides that.
        retryAttempts: 0,
      });
      const end = (answer) => {
        if (!running.delete(end)) return;
        if (answer) {
          observer.next(answer);
          onAnswer(answer);
        }
        observer.complete();
        client.dispose();
      };
      running.add(end);
      client.subscribe(operation, {
        next: (result) => observer.next(result),
        error: (cause) => {
          end(Array.isArray(cause) ? { errors: cause } : problem(inWords(cause)));
          if (typeof cause?.code === "number") onDoubt();
        },
        complete: () => end(),
      });
      return { unsubscribe: () => end() };
    },
  };
}

/** End what runs, since it runs as someone or somewhere else than the bar now says. */
export function endStreams() {
  const answer = problem("The stream has ended, because the token or the organization changed.");
  for (const end of [...running]) end(answer);
}

// The cause is a close event, or an error of the browser.
function inWords(cause) {
  if (typeof cause?.code !== "number") return "The service took no connection for the stream: is it still running?";
  return cause.reason
    ? `The service ended the stream: ${cause.reason} (${cause.code})`
    : `The connection of the stream was lost (${cause.code}).`;
}
