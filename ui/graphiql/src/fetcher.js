import { apart } from "./cost.js";
import { headers } from "./credentials.js";
import { post, problem } from "./endpoint.js";
import * as key from "./idempotency-key.js";
import { chosen } from "./operation.js";
import { stream } from "./streams.js";

const UNAUTHORIZED = 401;
const TOO_LATE = "The operation was run, but its answer is not shown: the token or the organization changed meanwhile.";

/**
 * How GraphiQL runs operations, once the credential has come that `arrived()` waits for. `onAnswer(answer)` hears each
 * answer to one of the reader's own, of a stream its end; `onCost(cost)` hears what it cost, which is shown beside it;
 * `onDoubt()` hears that the service may no longer know the caller.
 */
export function createFetcher({ arrived, onAnswer, onCost, onDoubt }) {
  return async function fetcher({ query, variables, operationName }) {
    if (operationName === "IntrospectionQuery") {
      // The schema may be read without a credential, while a bad credential is refused whatever is asked: sent
      // without one, the schema loads in every case.
      return (await post({ query, operationName }, {})).answer;
    }
    await arrived();
    const { name, kind } = chosen(query, operationName);
    const operation = { query, variables, operationName: name };
    if (kind === "subscription") return stream(operation, { onAnswer, onDoubt });
    const asked = headers();
    onCost(null);
    const { status, answer: said } = await post(operation, { ...asked, ...key.header(kind) });
    const { answer, cost } = apart(said);
    if (JSON.stringify(asked) !== JSON.stringify(headers())) return problem(TOO_LATE);
    onAnswer(answer);
    onCost(cost);
    if (status === UNAUTHORIZED) onDoubt();
    return answer;
  };
}
