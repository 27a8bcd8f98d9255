// Apollo Client: HTTP for queries and mutations, a WebSocket for what happens.
import { ApolloClient, ApolloLink, CombinedGraphQLErrors, HttpLink, InMemoryCache } from "@apollo/client";
import { ErrorLink } from "@apollo/client/link/error";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { OperationTypeNode } from "graphql";
import { createClient } from "graphql-ws";

export interface Caller {
  token: string;
  organization: string;
}

/** With this code the gateway closes a socket whose credential does not hold, or no longer. */
const FORBIDDEN = 4403;

interface Page {
  nodes: unknown[];
}

const NAMES = { token: "crm-gateway:token", organization: "crm-gateway:organization" };

/** Who signed in; kept until the tab is closed. */
export const kept = {
  load(): Caller | null {
    const token = sessionStorage.getItem(NAMES.token);
    return token ? { token, organization: sessionStorage.getItem(NAMES.organization) ?? "" } : null;
  },
  save(caller: Caller): void {
    sessionStorage.setItem(NAMES.token, caller.token);
    sessionStorage.setItem(NAMES.organization, caller.organization);
  },
  forget(): void {
    for (const name of Object.values(NAMES)) sessionStorage.removeItem(name);
  },
};

/** Names in lower case serve both as headers and in `connection_init`. An organization key names its organization itself. */
function headersOf({ token, organization }: Caller): Record<string, string> {
  const named = organization && !token.startsWith("ak_");
  return { authorization: `Bearer ${token}`, ...(named ? { "x-service-org": organization } : {}) };
}

const isClosing = (event: unknown): event is { code: number } => typeof event === "object" && event !== null && "code" in event;
const isForbidden = (event: unknown) => isClosing(event) && event.code === FORBIDDEN;

/**
 * A client for this caller. `onLive` is called with whether news come from now on, `onRefused` when the credential does not hold.
 * What is on the screen is asked for again when a socket is there: it may have changed before. It is, too, when the socket
 * was refused for good: the answer says whether the credential still holds.
 */
export function clientOf(caller: Caller, onLive: (isLive: boolean) => void, onRefused: () => void) {
  const headers = headersOf(caller);
  const socket = createClient({
    url: `${location.origin.replace(/^http/, "ws")}/graphql`,
    connectionParams: headers,
    retryAttempts: Number.POSITIVE_INFINITY,
    shouldRetry: (event) => !isForbidden(event),
    on: {
      connected: () => {
        onLive(true);
        again();
      },
      closed: (event) => {
        onLive(false);
        if (isForbidden(event)) again();
      },
    },
  });
  const refusals = new ErrorLink(({ error }) => {
    if (CombinedGraphQLErrors.is(error) && error.errors.some(({ extensions }) => extensions?.["code"] === "UNAUTHENTICATED")) onRefused();
  });
  const client = new ApolloClient({
    link: ApolloLink.split(
      ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
      new GraphQLWsLink(socket),
      refusals.concat(new HttpLink({ uri: "/graphql", headers })),
    ),
    cache: new InMemoryCache({
      typePolicies: {
        Query: {
          fields: {
            // Further pages are put behind those that there are; the first one begins anew.
            meetings: {
              keyArgs: ["filter", "orderBy"],
              merge: (before: Page | undefined, page: Page, { args }) =>
                args?.["after"] ? { ...page, nodes: [...(before?.nodes ?? []), ...page.nodes] } : page,
            },
          },
        },
      },
    }),
  });
  const again = () => void client.refetchQueries({ include: "active" });
  return { client, close: () => void socket.dispose() };
}
