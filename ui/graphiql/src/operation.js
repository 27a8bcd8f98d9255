import { parse } from "graphql";

/**
 * Which operation of a document is meant: `{ name, kind }`, both undefined where nothing says so. GraphiQL's own idea of
 * it lags behind the text for a moment, which matters where the document leaves no choice.
 */
export function chosen(query, operationName) {
  let operations;
  try {
    operations = parse(query).definitions.filter((one) => one.kind === "OperationDefinition");
  } catch {
    return {}; // the service says what is wrong with it
  }
  const found = operations.length === 1 ? operations[0] : operations.find((one) => one.name?.value === operationName);
  return { name: found?.name?.value, kind: found?.operation };
}
