import { graphql } from "./gql/index.js";

export const viewer = graphql(`
  query Viewer {
    viewer {
      name
      organization {
        name
      }
    }
  }
`);

export const accounts = graphql(`
  query Accounts($after: String) {
    accounts(first: 4, after: $after) {
      edges {
        node {
          id
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

export const dealCreate = graphql(`
  mutation DealCreate($input: DealCreateInput!) {
    dealCreate(input: $input) {
      deal {
        id
        name
      }
      userErrors {
        code
        field
        message
      }
    }
  }
`);

export const dealsCreated = graphql(`
  subscription DealsCreated($after: String) {
    events(types: ["deal_created"], after: $after) {
      cursor
      type
      data
    }
  }
`);
