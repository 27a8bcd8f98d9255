// urql: HTTP for queries and mutations, server-sent events for subscriptions, on the same address.
import { Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { createClient } from "graphql-sse";

import { headers, say, url } from "./address.js";
import { accounts, dealCreate, dealsCreated, viewer } from "./operations.js";

const events = createClient({ url, headers });
const client = new Client({
  url,
  fetchOptions: { headers },
  preferGetMethod: false,
  exchanges: [
    fetchExchange,
    subscriptionExchange({
      forwardSubscription: ({ query, variables }) => ({
        subscribe: (sink) => ({
          unsubscribe: events.subscribe({ query: query ?? "", variables: variables ?? {} }, sink as never),
        }),
      }),
    }),
  ],
});

say("viewer", (await client.query(viewer, {})).data?.viewer.name);

const refused = await client.mutation(dealCreate, { input: { name: "" } });
say("problems", refused.data?.dealCreate.userErrors.map(({ code, field }) => ({ code, field })));

const names: string[] = [];
let after: string | null | undefined;
do {
  const { data, error } = await client.query(accounts, { after });
  if (!data) throw error ?? new Error("no data");
  names.push(...data.accounts.edges.map(({ node }) => node.name));
  after = data.accounts.pageInfo.hasNextPage ? data.accounts.pageInfo.endCursor : null;
} while (after);
say("accounts", names);

const told = new Promise((resolve) => {
  client.subscription(dealsCreated, {}).subscribe(({ data, error }) => resolve(error ?? data?.events.data.name));
});
setTimeout(() => void client.mutation(dealCreate, { input: { name: "By urql" } }).toPromise(), 800);
say("event", await told);
process.exit(0);
