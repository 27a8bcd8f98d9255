import { headers } from "./credentials.js";

// The page is served at the endpoint's own address.
const ENDPOINT = location.pathname;

/** Send one operation. `onAnswer(status)` hears the HTTP status of each answer to an operation of the reader's own. */
export function createFetcher(onAnswer) {
  return async function fetcher({ query, variables, operationName, extensions }) {
    // The schema may be read without a credential, while a bad credential is refused whatever is asked: sent
    // without one, the schema loads in every case.
    const isSchema = operationName === "IntrospectionQuery";
    const response = await send({ query, variables, operationName, extensions }, isSchema ? {} : headers());
    if (!isSchema) onAnswer(response.status);
    const isJson = /^application\/(graphql-response\+)?json\b/.test(response.headers.get("content-type") ?? "");
    if (!isJson) {
      const text = (await response.text()).slice(0, 300);
      throw new Error(`The answer is not JSON: HTTP ${response.status} ${response.statusText}\n${text}`);
    }
    return response.json();
  };
}

async function send(body, credential) {
  try {
    return await fetch(ENDPOINT, {
      method: "POST",
      credentials: "omit",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/graphql-response+json, application/json;q=0.9",
        ...credential,
      },
      body: JSON.stringify(body),
    });
  } catch (cause) {
    throw new Error("The service did not answer: is it still running?", { cause });
  }
}
