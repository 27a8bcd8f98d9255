// Apollo Client: HTTP for queries and mutations, a WebSocket for subscriptions.
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { relayStylePagination } from "@apollo/client/utilities";
import { OperationTypeNode } from "graphql";
import { createClient } from "graphql-ws";
import WebSocket from "ws";

import { headers, say, socketUrl, url } from "./address.js";
import { accounts, dealCreate, dealsCreated, viewer } from "./operations.js";

const socket = createClient({ url: socketUrl, connectionParams: headers, webSocketImpl: WebSocket });
const client = new ApolloClient({
  link: ApolloLink.split(
    ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
    new GraphQLWsLink(socket),
    new HttpLink({ uri: url, headers }),
  ),
  cache: new InMemoryCache({
    typePolicies: { Query: { fields: { accounts: relayStylePagination() } } },
  }),
});

say("viewer", (await client.query({ query: viewer })).data?.viewer.name);

const refused = await client.mutate({ mutation: dealCreate, variables: { input: { name: "" } } });
say("problems", refused.data?.dealCreate.userErrors.map(({ code, field }) => ({ code, field })));

// What a component does: it watches the list, and the cache adds each further page to it.
const list = client.watchQuery({ query: accounts });
const watching = list.subscribe(() => undefined);
let page = (await client.query({ query: accounts })).data?.accounts;
while (page?.pageInfo.hasNextPage) {
  page = (await list.fetchMore({ variables: { after: page.pageInfo.endCursor } })).data?.accounts;
}
const joined = client.readQuery({ query: accounts });
say("accounts", joined?.accounts.edges.map(({ node }) => node.name));
watching.unsubscribe();

const told = new Promise((resolve, reject) => {
  client.subscribe({ query: dealsCreated }).subscribe({
    next: ({ data }) => resolve(data?.events.data.name),
    error: reject,
  });
});
socket.on("connected", () => {
  setTimeout(() => client.mutate({ mutation: dealCreate, variables: { input: { name: "By Apollo" } } }), 300);
});
say("event", await told);
client.stop();
await socket.dispose();
