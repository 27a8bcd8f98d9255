import { headers } from "./credentials.js";
import { post } from "./endpoint.js";
import { chosen } from "./operation.js";
import { stream } from "./streams.js";

/** How GraphiQL runs operations. `onAnswer(status, answer)` hears each answer to one of the reader's own. */
export function createFetcher(onAnswer) {
  return async function fetcher({ query, variables, operationName }) {
    if (operationName === "IntrospectionQuery") {
      // The schema may be read without a credential, while a bad credential is refused whatever is asked: sent
      // without one, the schema loads in every case.
      return (await post({ query, operationName }, {})).answer;
    }
    const { name, kind } = chosen(query, operationName);
    const operation = { query, variables, operationName: name };
    if (kind === "subscription") return stream(operation);
    const { status, answer } = await post(operation, headers());
    onAnswer(status, answer);
    return answer;
  };
}
