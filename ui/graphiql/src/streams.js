import { createClient } from "graphql-ws";
import { headers } from "./credentials.js";
import { ENDPOINT, problem } from "./endpoint.js";

const SOCKET = ENDPOINT.replace(/^http/, "ws");
const running = new Set();

/** A subscription over a socket of its own (graphql-transport-ws), as the observable that GraphiQL takes. */
export function stream(operation) {
  return {
    subscribe(observer) {
      const client = createClient({
        url: SOCKET,
        connectionParams: headers,
        // Connecting again would start over where the operation started: the reader decides that.
        retryAttempts: 0,
      });
      const end = (words) => {
        if (!running.delete(end)) return;
        if (words) observer.next(problem(words));
        observer.complete();
        client.dispose();
      };
      running.add(end);
      client.subscribe(operation, {
        next: (result) => observer.next(result),
        error: (cause) => end(inWords(cause)),
        complete: () => end(),
      });
      return { unsubscribe: () => end() };
    },
  };
}

/** End what runs, since it runs as someone or somewhere else than the bar now says. */
export function endStreams() {
  for (const end of [...running]) end("The stream has ended, because the token or the organization changed.");
}

// The cause is a close event, a list of GraphQL errors, or an error of the browser.
function inWords(cause) {
  if (Array.isArray(cause)) return cause.map((error) => error.message).join("; ");
  if (typeof cause?.code !== "number") return "The service took no connection for the stream: is it still running?";
  return cause.reason
    ? `The service ended the stream: ${cause.reason} (${cause.code})`
    : `The connection of the stream was lost (${cause.code}).`;
}
