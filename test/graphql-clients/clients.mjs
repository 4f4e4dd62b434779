// Asks and changes something with each client: `node clients.mjs URL TOKEN`. Prints what each was answered, as JSON.
import { ApolloClient, HttpLink, InMemoryCache } from "@apollo/client";
import { Client, fetchExchange } from "@urql/core";
import { parse } from "graphql";
import { GraphQLClient } from "graphql-request";

const [url, token] = process.argv.slice(2);
const headers = { authorization: `Bearer ${token}` };

const QUERY = parse(`query Issues($path: ID!, $after: String) {
  project(fullPath: $path) {
    name
    issues(first: 1, after: $after, sort: CREATED_ASC) {
      nodes { iid title author { ...Person } assignees { nodes { ...Person } } }
      pageInfo { hasNextPage endCursor }
    }
  }
}
fragment Person on User { id username }`);
const CHANGE = parse(`mutation Make($input: CreateIssueInput!) {
  createIssue(input: $input) { errors issue { iid title } }
}`);
const REFUSED = parse("{ issues { nodes { id } } }");

const path = "acme/site";
const inputOf = (title) => ({ input: { projectPath: path, title } });

const requests = new GraphQLClient(url, { headers });
/** Apollo's cache must be told which types an interface has, for fragments on it. */
const { __schema } = await requests.request(
  "{ __schema { types { name possibleTypes { name } } } }",
);
const possibleTypes = Object.fromEntries(
  __schema.types
    .filter((type) => type.possibleTypes)
    .map((type) => [type.name, type.possibleTypes.map(({ name }) => name)]),
);
const apollo = new ApolloClient({
  cache: new InMemoryCache({ possibleTypes }),
  link: new HttpLink({ uri: url, headers }),
});
const urql = new Client({
  url,
  exchanges: [fetchExchange],
  fetchOptions: { headers },
  preferGetMethod: false,
});

const clients = {
  "graphql-request": {
    ask: (variables) => requests.request(QUERY, variables),
    change: (variables) => requests.request(CHANGE, variables),
    fail: () => requests.request(REFUSED).catch(({ response }) => response.errors),
  },
  Apollo: {
    ask: async (variables) => (await apollo.query({ query: QUERY, variables })).data,
    change: async (variables) => (await apollo.mutate({ mutation: CHANGE, variables })).data,
    fail: () => apollo.query({ query: REFUSED }).catch(({ errors }) => errors),
  },
  urql: {
    ask: async (variables) => (await urql.query(QUERY, variables)).data,
    change: async (variables) => (await urql.mutation(CHANGE, variables)).data,
    fail: async () => (await urql.query(REFUSED, {})).error.graphQLErrors,
  },
};

/** Clients add `__typename` to what they ask for. */
const plain = (value) =>
  JSON.parse(JSON.stringify(value, (key, inner) => (key === "__typename" ? undefined : inner)));

const answers = {};
for (const [name, { ask, change, fail }] of Object.entries(clients)) {
  const first = plain(await ask({ path }));
  const after = first.project.issues.pageInfo.endCursor;
  const second = plain(await ask({ path, after }));
  const made = plain(await change(inputOf(name)));
  const [{ message }] = await fail();
  answers[name] = { first, second, made, message };
}
process.stdout.write(JSON.stringify(answers));
