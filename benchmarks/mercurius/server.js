// Mercurius with its JIT, without authentication or limits: the organization is what a header says.
// The environment says which database: PGHOST, PGUSER, PGDATABASE. It prints the address that it listens on.
import { readFileSync } from "node:fs";
import fastify from "fastify";
import mercurius from "mercurius";
import { loaders, resolvers } from "./resolvers.js";

const app = fastify();
await app.register(mercurius, {
  schema: readFileSync(new URL("schema.graphql", import.meta.url), "utf8"),
  resolvers,
  loaders,
  jit: 1,
  context: (request) => ({ organization: request.headers["x-organization"] }),
});
console.log(await app.listen({ port: 0, host: "127.0.0.1" }));
process.on("SIGINT", () => process.exit(0));
