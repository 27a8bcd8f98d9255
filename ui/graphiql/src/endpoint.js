// The page is served at the endpoint's own address, behind whatever prefix.
export const ENDPOINT = location.origin + location.pathname;

const ACCEPT = "application/graphql-response+json, application/json;q=0.9";

/** Post one operation. `{ status, answer }`; the answer is a GraphQL response whatever happens, with words for people. */
export async function post(operation, headers, signal) {
  let response;
  try {
    response = await fetch(ENDPOINT, {
      method: "POST",
      credentials: "omit",
      headers: { "content-type": "application/json", accept: ACCEPT, ...headers },
      body: JSON.stringify(operation),
      signal,
    });
  } catch {
    return { status: 0, answer: problem("The service did not answer: is it still running?") };
  }
  try {
    return { status: response.status, answer: await response.json() };
  } catch {
    return { status: response.status, answer: problem(`The answer is not JSON: HTTP ${response.status}`) };
  }
}

/** What the response pane shows for something that the service did not say itself. */
export function problem(message) {
  return { errors: [{ message }] };
}
