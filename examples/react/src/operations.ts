// Everything that the page asks. `npm run generate` makes the types of the answers from the gateway's schema.
import { graphql } from "./gql";

export const whoAmI = graphql(`
  query WhoAmI {
    viewer {
      name
      subject
      organization {
        name
      }
      organizations {
        id
        name
      }
    }
  }
`);

export const board = graphql(`
  query Board {
    dealBoard {
      columns {
        stage {
          id
          name
        }
        dealCount
        totals {
          currency
          amount
        }
        deals(first: 20) {
          nodes {
            id
            name
            value
            currency
            closeDate
            version
            account {
              name
            }
            owner {
              name
            }
          }
        }
      }
    }
  }
`);

export const dealMove = graphql(`
  mutation DealMove($id: ID!, $stage: ID!, $version: Int!) {
    dealUpdate(id: $id, input: { stageId: $stage, expectedVersion: $version }) {
      deal {
        id
        version
      }
      userErrors {
        message
      }
    }
  }
`);

export const meetings = graphql(`
  query Meetings($first: Int!, $after: String) {
    meetings(first: $first, after: $after, filter: { state: { eq: SCHEDULED } }, orderBy: { field: DUE_AT, direction: ASC }) {
      nodes {
        id
        subject
        dueAt
        durationMinutes
        account {
          name
        }
        contact {
          firstName
          lastName
        }
        owner {
          name
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

export const happened = graphql(`
  subscription Happened {
    events {
      id
      type
      occurredAt
      data
      actorMember {
        name
      }
    }
  }
`);
