import type { Seed } from "../../src/seed/input.ts";

/** The caller: a member of eight groups, not an administrator. */
export const CALLER = { username: "user1", token: "token-of-the-bench" };

const times = <T>(length: number, make: (index: number) => T) =>
  Array.from({ length }, (_, index) => make(index));

const labels = (length: number) =>
  times(length, (index) => ({
    name: `Label ${index}`,
    color: "#428bca",
    description: "What is meant by this label, in a sentence.",
  }));

const VISIBILITIES = ["private", "internal", "public"] as const;

const DESCRIPTION = "What happens, what should happen instead, and how to make it happen. ".repeat(
  5,
);
const SOME_LABELS = times(5, (index) => `Label ${10 + index}`);

/** People and texts of an issue or merge request. The caller has a todo for it. */
const planned = (index: number) => ({
  title: `Something to do, number ${index}`,
  description: DESCRIPTION,
  author: `user${2 + (index % 9)}`,
  assignees: [CALLER.username, `user${11 + (index % 9)}`],
  labels: times(3, (at) => SOME_LABELS[(index + at) % SOME_LABELS.length] as string),
  milestone: "v1",
});

/** Issues that only have a title and a description. */
const plain = (length: number) =>
  times(length, (index) => ({
    title: `Another thing to do, number ${index}`,
    description: DESCRIPTION,
    author: `user${2 + (index % 9)}`,
  }));

/** Issues of the projects whose issues are changed: of one the titles, of the next the states. */
export const CHANGED_ISSUES = 1000;
const CHANGED_PROJECTS = [1, 3];

/** How much is seeded: at least 30 users and 8 groups. */
const MEDIUM = { users: 800, groups: 60, changedIssues: CHANGED_ISSUES };

/**
 * Additional records of one project: 20 wiki pages of 20 KB, 20 badges, 500 dependencies, 100 issues and 100 merge
 * requests with labels, assignees and a milestone, 40 notes on the first issue.
 */
const areas = {
  milestones: [{ title: "v1", due_date: "2030-01-01" }],
  issues: times(100, (index) => ({
    ...planned(index),
    todos: [CALLER.username],
    notes: times(index === 0 ? 40 : 2, (note) => ({
      author: `user${2 + (note % 9)}`,
      body: `A comment of a sentence or two, number ${note}. This is the second one.`,
    })),
  })),
  merge_requests: times(100, (index) => ({ ...planned(index), source_branch: `branch-${index}` })),
  wiki: times(20, (index) => ({
    title: `Page ${String(index).padStart(2, "0")}`,
    content: 'A line of a wiki page, with *emphasis* and "quotes".\n'.repeat(400),
  })),
  badges: times(20, (index) => ({
    name: `Badge ${index}`,
    link_url: "https://ci.example.com/%{project_path}/-/%{project_id}",
    image_url: "https://ci.example.com/%{project_path}/%{default_branch}/badge.svg",
  })),
  dependencies: times(500, (index) => ({
    name: `package-${String(index).padStart(3, "0")}`,
    version: `1.${index}.0`,
    package_manager: "npm" as const,
    dependency_file_path: "package-lock.json",
  })),
};

/**
 * 800 users, 60 groups with one board of 20 lists each, 500 projects, 10,000 labels. The newest three groups are
 * public, so that a server without access checks lists the same newest projects as one with them. Only the groups that
 * the caller is a member of have issues, for the same reason.
 */
export function mediumSeed(size = MEDIUM): Seed {
  return {
    users: times(size.users, (index) => ({
      username: `user${index}`,
      name: `User ${index}`,
      tokens: index === 1 ? [{ token: CALLER.token }] : [],
    })),
    groups: times(size.groups, (group) => {
      const visibility = group >= size.groups - 3 ? "public" : VISIBILITIES[group % 3];
      return {
        path: group === 0 ? "acme" : `group-${group}`,
        visibility,
        description: "A group.",
        members: {
          [`user${group + 10}`]: "owner",
          ...(group % 8 === 0 ? { [CALLER.username]: "developer" } : {}),
        },
        labels: labels(100),
        boards: [{ name: "Board", lists: times(20, (index) => `Label ${index}`) }],
        projects: times(group < 20 ? 9 : 8, (index) => ({
          path: `project-${index}`,
          name: `Project ${index}`,
          description: "A project that does things, described in a sentence of moderate length.",
          visibility,
          labels: labels(8),
          ...(group % 8 === 0 && { issues: plain(2) }),
          ...(group === 0 && index === 0 && areas),
          ...(group === 0 &&
            CHANGED_PROJECTS.includes(index) && { issues: plain(size.changedIssues) }),
        })),
      };
    }),
  };
}
