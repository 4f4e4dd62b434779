import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

// What follows from a change is declared in tables of followers, in files of that name: nobody else calls what they call.

const resources = fileURLToPath(new URL("../../src/resources/", import.meta.url));

/** What followers call: a call's beginning, and the files that call it besides, each with its reason. */
const CALLED: Record<string, Record<string, string>> = {
  "events.record(": {},
  "recordHookEvent(": {
    "award-emoji/index.ts": "nothing else follows from emoji on notes and snippets",
    "wikis/pushes.ts": "nothing else follows from pages of wikis",
    "feature-flags/index.ts": "nothing else follows from feature flags",
    "tokens/expiry.ts": "nothing else follows from a token that will expire",
    "repositories/pushes.ts": "a push is followed where it is received",
    "ci/progress.ts": "pipelines and jobs are followed where their status is set",
    "ci/records.ts": "a new pipeline has no status before",
    "ci/environments.ts": "nothing else follows from the status of a deployment",
  },
  "recordMember(": {},
  "recordProject(": {},
  "recordGroup(": {
    "groups/changes.ts": "nothing else follows from changes of groups",
    "groups/deletion.ts": "likewise",
    "groups/index.ts": "likewise",
    "due-deletions.ts": "likewise",
  },
  "recordAction(": {
    "issuables/notes.ts": "where it is",
    "discussions/worker.ts": "a new version is followed by a worker",
  },
  "queueNotification(": {
    "issues/due.ts": "a day begins",
    "merge-requests/waiting.ts": "nobody does it",
    "ci/progress.ts": "pipelines and jobs are followed where their status is set",
    "pipelines/create.ts": "a pipeline that can't be made has no jobs",
  },
  "queueReady(": {
    "ci/progress.ts": "where it is",
    "merge-request-blocks/index.ts": "nothing else follows from one block fewer",
    "train-state/cars.ts": "it is the next one's turn in a train",
    "status-checks/index.ts": "nothing else follows from what a status check says",
  },
  "queueEnd(": { "ci/progress.ts": "where it is" },
  "askApprovers(": { "issuables/asking.ts": "where it is" },
  "storeReferences(": { "issuables/references.ts": "where it is" },
  "history.record": {},
  "todos.add(": {
    "issuables/asking.ts": "a follower of its own",
    "pipelines/worker.ts": "a pipeline has failed",
  },
  "todos.mention(": {},
  "todos.resolve(": { "award-emoji/index.ts": "emoji are an answer" },
};

it("what follows from changes is called by the tables of followers only", () => {
  const files = readdirSync(resources, { recursive: true, encoding: "utf8" }).filter(
    // A seed says itself what there is.
    (name) => name.endsWith(".ts") && !/\/(followers|seed)\.ts$/.test(name),
  );
  const texts = files.map((name) => [name, readFileSync(join(resources, name), "utf8")] as const);
  const found = Object.keys(CALLED).flatMap((call) =>
    texts.flatMap(([name, text]) => {
      const calls = text.split("\n").some((line) => !/^\s*\*/.test(line) && line.includes(call));
      return calls ? [`${name}: ${call}`] : [];
    }),
  );
  const allowed = Object.entries(CALLED).flatMap(([call, elsewhere]) =>
    Object.keys(elsewhere).map((name) => `${name}: ${call}`),
  );
  expect(found.sort()).toEqual(allowed.sort());
});

it("issues and merge requests are changed by one function", () => {
  const files = readdirSync(resources, { recursive: true, encoding: "utf8" });
  const importing = files.filter((name) => {
    if (!name.endsWith(".ts") || basename(name) === "seed.ts") return false;
    const text = readFileSync(join(resources, name), "utf8");
    return /replace(Labels|People)\b/.test(text);
  });
  expect(importing.sort()).toEqual([
    "boards/changes.ts",
    "boards/queries.ts",
    "issuables/change.ts",
    "issuables/queries.ts",
  ]);
});
