// graphql-sse alone: each operation is a request whose answer is a stream of events.
import { print } from "graphql";
import { createClient } from "graphql-sse";

import { headers, say, url } from "./address.js";
import { accounts, dealCreate, dealsCreated, viewer } from "./operations.js";
import type { AccountsQuery, DealCreateMutation, DealsCreatedSubscription, ViewerQuery } from "./gql/graphql.js";

const client = createClient({ url, headers });

async function once<T>(query: string, variables: Record<string, unknown> = {}): Promise<T> {
  for await (const { data, errors } of client.iterate<T>({ query, variables })) {
    if (data) return data;
    throw errors?.[0];
  }
  throw new Error("no answer");
}

say("viewer", (await once<ViewerQuery>(print(viewer))).viewer.name);

const refused = await once<DealCreateMutation>(print(dealCreate), { input: { name: "" } });
say("problems", refused.dealCreate.userErrors.map(({ code, field }) => ({ code, field })));

const names: string[] = [];
let after: string | null | undefined = null;
do {
  const page: AccountsQuery = await once<AccountsQuery>(print(accounts), { after });
  names.push(...page.accounts.edges.map(({ node }) => node.name));
  after = page.accounts.pageInfo.hasNextPage ? page.accounts.pageInfo.endCursor : null;
} while (after);
say("accounts", names);

const events = client.iterate<DealsCreatedSubscription>({ query: print(dealsCreated) });
const told = events.next();
setTimeout(() => void once(print(dealCreate), { input: { name: "By graphql-sse" } }), 800);
say("event", (await told).value?.data?.events.data.name);
client.dispose();
process.exit(0);
