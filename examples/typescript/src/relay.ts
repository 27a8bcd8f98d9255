// Relay: a connection under one key of the store, its next page by the account's own `node`, and a subscription.
import {
  commitMutation,
  Environment,
  fetchQuery,
  graphql,
  type GraphQLResponse,
  Network,
  Observable,
  RecordSource,
  requestSubscription,
  Store,
} from "relay-runtime";
import { createClient } from "graphql-ws";
import WebSocket from "ws";

import { headers, say, socketUrl, url } from "./address.js";
import type { relayAccountQuery } from "./__generated__/relayAccountQuery.graphql.js";
import type { relayDealCreateMutation } from "./__generated__/relayDealCreateMutation.graphql.js";
import type { relayDealsSubscription } from "./__generated__/relayDealsSubscription.graphql.js";
import type { relayViewerQuery } from "./__generated__/relayViewerQuery.graphql.js";
import ContactsPagination from "./__generated__/relayContactsPaginationQuery.graphql.js";

const socket = createClient({ url: socketUrl, connectionParams: headers, webSocketImpl: WebSocket });
const environment = new Environment({
  network: Network.create(
    async ({ text: query }, variables) => {
      const answer = await fetch(url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ query, variables }),
      });
      return (await answer.json()) as GraphQLResponse;
    },
    ({ text, name }, variables) =>
      Observable.create<GraphQLResponse>((sink) =>
        socket.subscribe({ query: text ?? "", operationName: name, variables }, sink as never),
      ),
  ),
  store: new Store(new RecordSource()),
});

// A component that shows an account's contacts would take this fragment with usePaginationFragment.
graphql`
  fragment relay_contacts on Account
  @refetchable(queryName: "relayContactsPaginationQuery")
  @argumentDefinitions(count: { type: "Int", defaultValue: 1 }, cursor: { type: "String" }) {
    contacts(first: $count, after: $cursor) @connection(key: "relay_contacts") {
      edges {
        node {
          firstName
        }
      }
    }
  }
`;

const viewer = await fetchQuery<relayViewerQuery>(
  environment,
  graphql`
    query relayViewerQuery {
      viewer {
        name
      }
    }
  `,
  {},
).toPromise();
say("viewer", viewer?.viewer.name);

const account = await fetchQuery<relayAccountQuery>(
  environment,
  graphql`
    query relayAccountQuery {
      accounts(first: 1, orderBy: { field: NAME, direction: ASC }) {
        edges {
          node {
            id
            ...relay_contacts
          }
        }
      }
    }
  `,
  {},
).toPromise();
const id = account?.accounts.edges[0]?.node.id ?? "";

// What usePaginationFragment does for the next page: the account again, by its `node`, behind the cursor.
type Page = { node: { contacts: { edges: { node: { firstName: string | null } }[]; pageInfo: { endCursor: string; hasNextPage: boolean } } } };
const names: (string | null)[] = [];
let cursor: string | null = null;
do {
  const { text } = ContactsPagination.params;
  const answer: Response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ query: text, variables: { id, count: 1, cursor } }),
  });
  const { contacts }: Page["node"] = ((await answer.json()) as { data: Page }).data.node;
  names.push(...contacts.edges.map(({ node }) => node.firstName));
  cursor = contacts.pageInfo.hasNextPage ? contacts.pageInfo.endCursor : null;
} while (cursor);
say("contacts", names);

const create = (name: string): Promise<relayDealCreateMutation["response"]> =>
  new Promise((resolve, reject) => {
    commitMutation<relayDealCreateMutation>(environment, {
      mutation: graphql`
        mutation relayDealCreateMutation($input: DealCreateInput!) {
          dealCreate(input: $input) {
            deal {
              id
              name
            }
            userErrors {
              code
              field
            }
          }
        }
      `,
      variables: { input: { name } },
      onCompleted: resolve,
      onError: reject,
    });
  });
say("problems", (await create("")).dealCreate.userErrors);

const told = new Promise((resolve, reject) => {
  requestSubscription<relayDealsSubscription>(environment, {
    subscription: graphql`
      subscription relayDealsSubscription {
        events(types: ["deal_created"]) {
          data
        }
      }
    `,
    variables: {},
    onNext: (answer) => resolve((answer?.events.data as { name: string }).name),
    onError: reject,
  });
});
setTimeout(() => void create("By Relay"), 800);
say("event", await told);
await socket.dispose();
process.exit(0);
