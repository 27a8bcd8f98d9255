// The tabs that a reader finds: one for each area, in this order. Each runs as it is on the demo data.

const documents = import.meta.glob("./examples/*.graphql", { query: "?raw", import: "default", eager: true });
const variables = import.meta.glob("./examples/*.json", { query: "?raw", import: "default", eager: true });

export const EXAMPLES = Object.keys(documents)
  .sort()
  .map((path) => ({
    query: documents[path],
    variables: variables[path.replace(/graphql$/, "json")]?.trim(),
  }));
