import { createApp } from "pm-api";

const pm = await createApp({ database: ":memory:" });
await pm.admin.seed({
  users: [{ username: "ada", name: "Ada", tokens: [{ token: "ada-token" }] }],
  groups: [
    {
      path: "acme",
      members: { ada: "owner" },
      projects: [
        {
          path: "site",
          issues: ["Draw", "Build", "Test"].map((title) => ({ title, author: "ada" })),
        },
      ],
    },
  ],
});

/** Asks with the token, and throws what is wrong. */
async function ask(query, variables) {
  const response = await pm.fetch(
    new Request("http://localhost/api/graphql", {
      method: "POST",
      headers: { authorization: "Bearer ada-token", "content-type": "application/json" },
      body: JSON.stringify({ query, variables }),
    }),
  );
  const { data, errors } = await response.json();
  if (errors) throw new Error(errors.map(({ message }) => message).join("\n"));
  return data;
}

const { createIssue } = await ask(
  `mutation ($input: CreateIssueInput!) {
    createIssue(input: $input) { issue { reference(full: true) } errors }
  }`,
  { input: { projectPath: "acme/site", title: "Ship" } },
);
console.log("made", createIssue.issue.reference);

const ISSUES = `query ($path: ID!, $after: String) {
  project(fullPath: $path) {
    issues(first: 2, after: $after) {
      nodes { iid title author { name } }
      pageInfo { hasNextPage endCursor }
    }
  }
}`;
let after;
do {
  const { project } = await ask(ISSUES, { path: "acme/site", after });
  const { nodes, pageInfo } = project.issues;
  for (const { iid, title, author } of nodes) console.log(`#${iid}`, title, "by", author.name);
  after = pageInfo.hasNextPage ? pageInfo.endCursor : undefined;
} while (after);

await pm.close();
