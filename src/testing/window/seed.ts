import { type Role, roleOf } from "../../core/access/roles.ts";
import type { ChangedRecord, Changes } from "../changes/changes.ts";

type Json = Record<string, unknown>;

/** What is at a path that is no group: a project of a group or of a user. */
export type PlaceKind = "group" | "project of a group" | "project of a user";

/** These attributes, as far as they say something. */
const said = (record: Json, ...names: readonly string[]): Json =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = record[name];
      const isEmpty = value === null || value === undefined || value === "" || value === false;
      return isEmpty || (Array.isArray(value) && value.length === 0) ? [] : [[name, value]];
    }),
  );

const nameOf = (person: unknown) => (person as { username: string }).username;
const authored = ({ author }: Json) => ({ author: nameOf(author) });

/** What issues and merge requests have in common. */
function issuable(record: Json): Json {
  const { assignees = [], milestone, state } = record;
  const names = (assignees as unknown[]).map(nameOf);
  return {
    ...said(record, "title", "description", "labels", "confidential", "weight", "due_date"),
    ...authored(record),
    ...(names.length > 0 && { assignees: names }),
    ...(milestone ? { milestone: (milestone as { title: string }).title } : {}),
    ...(state !== "opened" && { state }),
  };
}

/** What is listed in a group or project of a seed, by the kind of the record: the list's name, and its entry. */
const LISTED: Readonly<Record<string, readonly [list: string, entry: (record: Json) => Json]>> = {
  label: ["labels", (record) => said(record, "name", "color", "description")],
  milestone: [
    "milestones",
    (record) => ({
      ...said(record, "title", "description", "start_date", "due_date"),
      ...(record["state"] === "closed" && { state: "closed" }),
    }),
  ],
  badge: ["badges", (record) => said(record, "name", "link_url", "image_url")],
  variable: [
    "variables",
    (record) => ({
      value: "",
      ...said(record, "key", "value", "variable_type", "environment_scope", "description"),
      ...said(record, "protected", "masked", "raw"),
    }),
  ],
  issue: ["issues", (record) => ({ ...issuable(record), ...said(record, "issue_type") })],
  "merge request": [
    "merge_requests",
    (record) => ({ ...issuable(record), ...said(record, "source_branch", "target_branch") }),
  ],
  snippet: [
    "snippets",
    (record) => {
      const [file] = (record["files"] ?? []) as { content?: string }[];
      return {
        ...said(record, "title", "file_name", "description", "visibility"),
        content: file?.content ?? "",
        ...authored(record),
      };
    },
  ],
};

/** The path of the group or project that a record is, or belongs to: {@link ChangedRecord.path} begins with it. */
export const placeOf = ({ path }: Pick<ChangedRecord, "path">): string =>
  /^[^ #!$]*/.exec(path)?.[0] as string;

/** Whether {@link seedOf} has a record of this kind. */
export const isSeeded = ({ type }: Pick<ChangedRecord, "type">): boolean =>
  type in LISTED || ["user", "group", "project", "member", "note"].includes(type);

/** What {@link seedOf} has to know besides the changes. */
interface Known {
  /** What is at a path. */
  kindOf(path: string): PlaceKind | undefined;
  /** The user names of administrators. */
  readonly admins: ReadonlySet<string>;
}

/** A seed as it is put together. */
class Written {
  readonly #users = new Map<string, Json>();
  readonly #roots: { groups: Json[]; projects: Json[] } = { groups: [], projects: [] };
  readonly #nodes = new Map<string, Json>();
  readonly #kindOf: Known["kindOf"];
  readonly #admins: Known["admins"];

  constructor({ kindOf, admins }: Known) {
    this.#kindOf = kindOf;
    this.#admins = admins;
  }

  /** The group or project at a path, with the groups above it. */
  node(path: string): Json {
    const known = this.#nodes.get(path);
    if (known) return known;
    const [, above, own] = /^(?:(.*)\/)?([^/]*)$/.exec(path) as unknown as [
      string,
      string?,
      string?,
    ];
    const kind = this.#kindOf(path) ?? "group";
    const made: Json = { path: own };
    if (kind === "project of a user") {
      this.user(above ?? "");
      this.#roots.projects.push(Object.assign(made, { namespace: above }));
    } else if (above === undefined) this.#roots.groups.push(made);
    else push(this.node(above), kind === "group" ? "subgroups" : "projects", made);
    this.#nodes.set(path, made);
    return made;
  }

  user(username: string, more: Json = {}): void {
    const admin = this.#admins.has(username) && { admin: true };
    this.#users.set(username, { username, ...admin, ...this.#users.get(username), ...more });
  }

  seed(): Json {
    const { groups, projects } = this.#roots;
    const users = [...this.#users.values()];
    return said({ users, groups, projects }, "users", "groups", "projects");
  }
}

const listIn = (node: Json, name: string): Json[] => {
  node[name] ??= [];
  return node[name] as Json[];
};
const push = (node: Json, name: string, entry: Json) => listIn(node, name).push(entry);

/**
 * What was created, as a seed that has nothing else: with the groups, projects, milestones and people that it names. Records
 * of kinds that seeds do not have are left out, and notes on what was there before.
 *
 * @param known what is at their places, and who administrators are
 */
export function seedOf({ created }: Pick<Changes, "created">, known: Known): Json {
  const written = new Written(known);
  const noted = new Map<string, Json>();
  for (const { type, path, record } of created) {
    if (type === "user") {
      written.user(String(record["username"]), said(record, "name", "email"));
      continue;
    }
    if (type === "note") {
      const entry = noted.get(path.slice(0, path.indexOf(" (")));
      if (!entry) continue;
      written.user(nameOf(record["author"]));
      push(entry, "notes", { ...authored(record), ...said(record, "body", "internal") });
      continue;
    }
    if (!isSeeded({ type })) continue;
    const node = written.node(placeOf({ path }));
    if (type === "group" || type === "project") {
      Object.assign(node, said(record, "name", "visibility", "topics"));
      continue;
    }
    if (type === "member") {
      const role: Role = roleOf(Number(record["access_level"])) ?? "guest";
      written.user(nameOf(record));
      node["members"] = { ...(node["members"] as object), [nameOf(record)]: role };
      continue;
    }
    const [list, entryOf] = LISTED[type] as (typeof LISTED)[string];
    const entry = entryOf(record);
    push(node, list, entry);
    for (const person of [entry["author"], ...((entry["assignees"] ?? []) as unknown[])]) {
      if (typeof person === "string") written.user(person);
    }
    if (list === "issues" || list === "merge_requests") noted.set(path, entry);
    const { milestone } = entry;
    const milestones = milestone === undefined ? [] : listIn(node, "milestones");
    if (milestone !== undefined && !milestones.some(({ title }) => title === milestone)) {
      milestones.push({ title: milestone });
    }
  }
  return written.seed();
}
