// What is kept without an effect, and what is refused because it would have none.

import { described } from "./documented.ts";

/** What an attribute of some routes is. */
interface Found {
  readonly name: string;
  readonly kind: "effect" | "support";
  /** The resources whose routes have it. */
  readonly of: Set<string>;
}

function attributes(isRead: boolean): Found[] {
  const found = new Map<string, Found>();
  for (const { name: resource, routes } of described) {
    for (const { input = {}, method } of routes) {
      for (const [name, { notes }] of Object.entries(input)) {
        if (notes.without === undefined || (method === "GET") !== isRead) continue;
        const key = `${name} ${notes.without}`;
        const known = found.get(key) ?? { name, kind: notes.without, of: new Set() };
        known.of.add(resource);
        found.set(key, known);
      }
    }
  }
  return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

const table = (rows: readonly Found[]) => [
  "| attribute | of |",
  "|---|---|",
  ...rows.map(({ name, of }) => `| \`${name}\` | ${[...of].sort().join("; ")} |`),
];

/** The document of attributes without an effect. */
export function keptAttributes(): string {
  const all = attributes(false);
  const filters = attributes(true);
  return [
    "<!-- Generated from the routes by `npm run docs`: do not edit. -->",
    "",
    "# Attributes without an effect",
    "",
    "GitLab has these attributes for features that do not exist here. [What clients may expect](compatibility.md) tells",
    "more. Of all others that are documented for a route, [the reference](reference/README.md) tells what they do.",
    "",
    "## Kept",
    "",
    "They are kept and shown as they were sent, and nothing else follows from them.",
    "",
    ...table(all.filter(({ kind }) => kind === "effect")),
    "",
    "## Refused",
    "",
    "They are refused with 400, “is not supported on this server”, unless they are blank or ask for what is the case",
    "anyway: whoever sends them would rely on something that does not happen.",
    "",
    ...table(all.filter(({ kind }) => kind === "support")),
    "",
    "## Filters of lists",
    "",
    "These leave nothing out, since what they ask for is the case of all that there is, and add nothing to answers:",
    "",
    ...table(filters.filter(({ kind }) => kind === "effect")),
    "",
    "These are refused with 400, “is not supported on this server”, unless they are blank or leave nothing out. Others that",
    "ask for what nothing here has, such as a health status, are answered with an empty list.",
    "",
    ...table(filters.filter(({ kind }) => kind === "support")),
    "",
  ].join("\n");
}
