import { getOperationAST } from "graphql";
import { headers } from "./credentials.js";
import { post } from "./endpoint.js";
import { stream } from "./streams.js";

/** How GraphiQL runs operations. `onStatus(status)` hears the HTTP status of each answer to the reader's own. */
export function createFetcher(onStatus) {
  return async function fetcher(operation, { documentAST } = {}) {
    if (operation.operationName === "IntrospectionQuery") {
      // The schema may be read without a credential, while a bad credential is refused whatever is asked: sent
      // without one, the schema loads in every case.
      return (await post(operation, {})).answer;
    }
    if (documentAST && getOperationAST(documentAST, operation.operationName)?.operation === "subscription") {
      return stream(operation);
    }
    const { status, answer } = await post(operation, headers());
    onStatus(status);
    return answer;
  };
}
