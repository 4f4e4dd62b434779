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

const GROUPS = 60;
const VISIBILITIES = ["private", "internal", "public"] as const;

/** Additional records of one project: 20 wiki pages of 20 KB, 20 badges, 500 dependencies. */
const areas = {
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
 * public, so that a server without access checks lists the same newest projects as one with them.
 */
export function mediumSeed(): Seed {
  return {
    users: times(800, (index) => ({
      username: `user${index}`,
      name: `User ${index}`,
      tokens: index === 1 ? [{ token: CALLER.token }] : [],
    })),
    groups: times(GROUPS, (group) => {
      const visibility = group >= GROUPS - 3 ? "public" : VISIBILITIES[group % 3];
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
          ...(group === 0 && index === 0 ? areas : {}),
        })),
      };
    }),
  };
}
