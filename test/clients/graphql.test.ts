import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import ts from "typescript";
import { beforeAll, expect, it } from "vitest";
import { startTestServer } from "../../src/testing.ts";
import { newFolder } from "../folder.ts";

// The clients are programs of their own, since they are installed apart from the project: test/graphql-clients.

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, "test/graphql-clients");
const run = promisify(execFile);
const node = async (...args: string[]) =>
  (await run(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 24 })).stdout;

beforeAll(async () => {
  if (existsSync(join(folder, "node_modules"))) return;
  await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder });
});

it("graphql-request, Apollo and urql read pages, change something, and show errors", async () => {
  const server = await startTestServer({
    seed: {
      users: [{ username: "ann", tokens: [{ token: "ann-token" }] }, { username: "bob" }],
      groups: [
        {
          path: "acme",
          members: { ann: "owner" },
          projects: [
            {
              path: "site",
              issues: [
                { title: "One", author: "ann", assignees: ["bob"] },
                { title: "Two", author: "ann" },
              ],
            },
          ],
        },
      ],
    },
  });
  const printed = await node("clients.mjs", `${server.url}/api/graphql`, "ann-token");
  await server.close();
  const ann = { id: "gid://gitlab/User/1", username: "ann" };
  const bob = { id: "gid://gitlab/User/2", username: "bob" };
  const page = (iid: string, title: string, assignees: object[], hasNextPage: boolean) => ({
    project: {
      name: "site",
      issues: {
        nodes: [{ iid, title, author: ann, assignees: { nodes: assignees } }],
        pageInfo: { hasNextPage, endCursor: expect.any(String) },
      },
    },
  });
  const answers = JSON.parse(printed);
  expect(Object.keys(answers)).toEqual(["graphql-request", "Apollo", "urql"]);
  for (const [index, [name, answer]] of Object.entries(answers).entries()) {
    expect(answer).toEqual({
      first: page("1", "One", [bob], true),
      // Those before it have created more.
      second: page("2", "Two", [], index > 0),
      made: { createIssue: { errors: [], issue: { iid: String(3 + index), title: name } } },
      message: "You must provide at least one filter argument for this query",
    });
  }
});

const DOCUMENTS = `
  query Issues($path: ID!, $labels: [String]) {
    project(fullPath: $path) {
      issues(labelName: $labels) { nodes { iid title state dueDate labels { nodes { title } } } }
    }
  }
  mutation Make($input: CreateIssueInput!) { createIssue(input: $input) { errors issue { iid } } }
`;

/** Uses the types; the lines with an error are expected. */
const USE = `
  import type { CreateIssueInput, IssuesQuery, IssuesQueryVariables, MakeMutation } from "./types.js";
  export const variables: IssuesQueryVariables = { path: "acme/site", labels: ["bug", null] };
  export const input: CreateIssueInput = { projectPath: "acme/site", title: "One", assigneeIds: ["gid://gitlab/User/1"] };
  export const titles = ({ project }: IssuesQuery): string[] =>
    (project?.issues?.nodes ?? []).flatMap((issue) => (issue ? [issue.title] : []));
  export const iid = ({ createIssue }: MakeMutation): string | undefined => createIssue?.issue?.iid;
  // @ts-expect-error the path is missing
  export const wrong: IssuesQueryVariables = {};
  // @ts-expect-error there is no such state
  export const closed = ({ project }: IssuesQuery) => project?.issues?.nodes?.[0]?.state === "shut";
`;

it("types generated from docs/schema.graphql compile", async () => {
  const at = await newFolder();
  writeFileSync(join(at, "documents.graphql"), DOCUMENTS);
  const schema = join(root, "docs/schema.graphql");
  const types = await node("codegen.mjs", schema, join(at, "documents.graphql"));
  writeFileSync(join(at, "types.ts"), types);
  writeFileSync(join(at, "use.ts"), USE);
  const program = ts.createProgram([join(at, "use.ts")], {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: [],
  });
  const problems = ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  await rm(at, { recursive: true });
  expect(problems).toEqual([]);
});
