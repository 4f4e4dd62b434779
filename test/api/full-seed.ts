import type { Seed } from "../../src/index.ts";
import { baseSeed } from "../helpers.ts";

const issue = { title: "An issue", author: "owner", notes: [{ author: "guest", body: "So?" }] };
const request = { ...issue, title: "A request", source_branch: "feature" };
const badge = { link_url: "https://a.test", image_url: "https://a.test/b.svg" };
const [acme, ...otherGroups] = baseSeed.groups ?? [];
const [site, ...otherProjects] = acme?.projects ?? [];

/** {@link baseSeed} plus one record for each path parameter. */
export const fullSeed: Seed = {
  ...baseSeed,
  groups: [
    {
      ...(acme as NonNullable<typeof acme>),
      badges: [badge],
      projects: [
        {
          ...(site as NonNullable<typeof site>),
          labels: [{ name: "Own" }],
          milestones: [{ title: "v2" }],
          members: { guest: "developer" },
          badges: [badge],
          wiki: [
            { title: "home", content: "Welcome" },
            { title: "docs/page", content: "Text" },
          ],
          issues: [issue, { ...issue, title: "Another" }],
          merge_requests: [request],
          pushes: [{ author: "developer", ref: "feature", commit_to: "a".repeat(40) }],
        },
        ...otherProjects,
      ],
    },
    ...otherGroups,
  ],
};
