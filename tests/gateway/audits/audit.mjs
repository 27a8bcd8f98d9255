// node audit.mjs URL: every audit of GraphQL over HTTP against the endpoint, as JSON on stdout.
import { auditServer } from 'graphql-http';

const results = await auditServer({ url: process.argv[2] });
const told = results.map(({ id, name, status, reason }) => ({ id, name, status, reason: reason ?? null }));
process.stdout.write(JSON.stringify(told));
