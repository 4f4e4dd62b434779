import type { Seed } from "../src/seed/input.ts";
import { type Answer, baseSeed, type TestApp } from "./helpers.ts";

const opened = (title: string, labels: string[] = [], more: object = {}) => ({
  title,
  author: "owner",
  labels,
  ...more,
});

const [acme, ...others] = baseSeed.groups ?? [];

/** A group and a project of it with a board each, whose lists have issues of this project and of one further below. */
export const boardSeed: Seed = {
  ...baseSeed,
  groups: [
    {
      ...acme,
      path: "acme",
      boards: [{ name: "Group", lists: ["Development", "Testing"] }],
      projects: [
        {
          path: "site",
          visibility: "public",
          boards: [{ name: "Project", lists: ["Development", "Testing"] }],
          issues: [
            opened("a", ["Development"]),
            opened("b", ["Development", "UX"]),
            opened("c", ["Testing"]),
            opened("d", ["UX"], { weight: 3, assignees: ["developer"], milestone: "v1" }),
            opened("e"),
            opened("f", ["Development"], { confidential: true }),
            opened("g", ["Development"], { state: "closed", ended_at: "2026-01-01" }),
            opened("h", [], { state: "closed", ended_at: "2026-01-02" }),
          ],
        },
      ],
      subgroups: [
        {
          path: "team",
          projects: [
            {
              path: "core",
              issues: [opened("x", ["Development"]), opened("y"), opened("z", ["Testing"])],
            },
          ],
        },
      ],
    },
    ...others,
  ],
};

/** An issue of {@link boardSeed}. */
interface BoardIssue {
  readonly id: number;
  readonly iid: number;
  /** Its project's full path. */
  readonly path: string;
}

/** The issues of {@link boardSeed} by title. */
export async function boardIssues(app: Pick<TestApp, "call">): Promise<Record<string, BoardIssue>> {
  const found: Record<string, BoardIssue> = {};
  for (const path of ["acme/site", "acme/team/core"]) {
    const { json }: Answer = await app.call(
      `GET /projects/${encodeURIComponent(path)}/issues?per_page=100`,
      { as: "admin" },
    );
    for (const { id, iid, title } of json) found[title] = { id, iid, path };
  }
  return found;
}
