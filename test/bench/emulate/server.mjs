// Serves emulate's GitHub with about the data that the application's database has (../seed.ts).
import { createEmulator } from "emulate";
import { ready } from "../servers/control.mjs";

const [port, tokens, issues, changed] = process.argv.slice(2).map(Number);

const REPOSITORIES = ["project-0", "project-1", "project-2", "requests"];
const times = (length, make) => Array.from({ length }, (_, index) => make(index));
const people = times(20, (index) => `user${index}`);
const { url } = await createEmulator({
  service: "github",
  port,
  seed: {
    tokens: Object.fromEntries(
      times(tokens, (index) => [
        `bench-${index}`,
        { login: "user1", scopes: ["repo", "user", "admin:org"] },
      ]),
    ),
    github: {
      users: people.map((login) => ({ login, name: login })),
      orgs: [{ login: "acme", members: [{ login: "user1", role: "admin" }] }],
      repos: REPOSITORIES.map((name) => ({ owner: "acme", name, auto_init: true })),
    },
  },
});

let sent = 0;
async function create(path, body) {
  sent += 1;
  const response = await fetch(url + path, {
    method: "POST",
    headers: {
      authorization: `token bench-${sent % tokens}`,
      "content-type": "application/json",
    },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
}

const DESCRIPTION = "What happens, what should happen instead, and how to make it happen. ".repeat(
  5,
);
const labels = times(30, (index) => `Label ${index}`);
for (const name of labels) {
  await create("/repos/acme/project-0/labels", { name, color: "428bca", description: "A label." });
}
await create("/repos/acme/project-0/milestones", { title: "v1" });
for (const index of times(issues, (index) => index)) {
  const issue = {
    title: `Something to do, number ${index}`,
    body: DESCRIPTION,
    labels: labels.slice(10, 13),
    assignees: ["user1"],
    milestone: 1,
  };
  await create("/repos/acme/project-0/issues", issue);
  const request = { title: issue.title, body: issue.body, head: `branch-${index}`, base: "main" };
  await create("/repos/acme/requests/pulls", request);
}
for (const index of times(40, (index) => index)) {
  await create("/repos/acme/project-0/issues/1/comments", { body: `A comment, number ${index}.` });
}
for (const index of times(changed, (index) => index)) {
  await create("/repos/acme/project-1/issues", {
    title: `Another thing to do, number ${index}`,
    body: DESCRIPTION,
  });
}
ready(url);
