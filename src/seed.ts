import * as v from "valibot";
import { ROLES, type Role, VISIBILITIES } from "./core/access.ts";
import { digestOf, newSecret, SCOPES } from "./core/auth.ts";
import { hashPassword } from "./core/passwords.ts";
import * as badges from "./resources/badges/queries.ts";
import * as boards from "./resources/boards/queries.ts";
import * as dependencies from "./resources/dependencies/queries.ts";
import { LONGEST, PACKAGE_MANAGERS, SEVERITIES } from "./resources/dependencies/rules.ts";
import * as events from "./resources/events/queries.ts";
import * as groups from "./resources/groups/queries.ts";
import * as issues from "./resources/issues/queries.ts";
import * as labels from "./resources/labels/queries.ts";
import * as members from "./resources/members/queries.ts";
import * as mergeRequests from "./resources/merge-requests/queries.ts";
import * as milestones from "./resources/milestones/queries.ts";
import * as notes from "./resources/notes/queries.ts";
import * as projects from "./resources/projects/queries.ts";
import * as tokens from "./resources/tokens/queries.ts";
import * as users from "./resources/users/queries.ts";
import { requireFree } from "./resources/users/rules.ts";
import * as wikis from "./resources/wikis/queries.ts";
import { nameOf } from "./resources/wikis/rules.ts";
import type { Database, Store } from "./store/port.ts";
import { updateRow } from "./store/update.ts";

const words = <const T extends Record<string, unknown>>(object: T) =>
  v.picklist(Object.keys(object) as (keyof T & string)[]);
const Day = v.pipe(v.string(), v.isoDate());

const SeedToken = v.strictObject({
  name: v.optional(v.string(), "seed"),
  /** The secret; without one it is made up. */
  token: v.optional(v.string()),
  scopes: v.optional(v.array(v.picklist(SCOPES)), ["api"]),
  expires_at: v.optional(Day),
  impersonation: v.optional(v.boolean(), false),
});
const SeedUser = v.strictObject({
  username: v.string(),
  name: v.optional(v.string()),
  email: v.optional(v.string()),
  password: v.optional(v.string()),
  admin: v.optional(v.boolean(), false),
  external: v.optional(v.boolean(), false),
  state: v.optional(v.picklist(["active", "blocked"]), "active"),
  tokens: v.optional(v.array(SeedToken), []),
});
const SeedLabel = v.strictObject({
  name: v.string(),
  color: v.optional(v.pipe(v.string(), v.regex(/^#[0-9a-f]{6}$/i)), labels.DEFAULT_COLOR),
  description: v.optional(v.string()),
});
const SeedMilestone = v.strictObject({
  title: v.string(),
  description: v.optional(v.string()),
  state: v.optional(v.picklist(["active", "closed"]), "active"),
  start_date: v.optional(Day),
  due_date: v.optional(Day),
});
const SeedBadge = v.strictObject({
  name: v.optional(v.string()),
  link_url: v.string(),
  image_url: v.string(),
});
/** Members by user name, with the role they have. */
const SeedMembers = v.record(v.string(), words(ROLES));
const SeedBoard = v.strictObject({
  name: v.string(),
  /** Names of labels of the group: a list each, in this order. */
  lists: v.optional(v.array(v.string()), []),
});
const SeedWikiPage = v.strictObject({
  /** With its directory, where it is in one. */
  title: v.string(),
  content: v.string(),
  format: v.optional(v.picklist(wikis.FORMATS), wikis.FORMATS[0]),
});
/** An ISO 8601 instant or day, in UTC where it names no offset; without one, now. */
const Instant = v.optional(
  v.pipe(
    v.string(),
    v.transform((text) => Date.parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text)),
    v.number("Invalid instant"),
  ),
);
const SeedNote = v.strictObject({ author: v.string(), body: v.string(), created_at: Instant });
const issuable = {
  title: v.string(),
  description: v.optional(v.string()),
  /** User names. */
  author: v.string(),
  assignees: v.optional(v.array(v.string()), []),
  /** Names; labels that aren't there are made in the project. */
  labels: v.optional(v.array(v.string()), []),
  /** The title of one of the project or of a group above it. */
  milestone: v.optional(v.string()),
  notes: v.optional(v.array(SeedNote), []),
  created_at: Instant,
  /** Who closed or merged it, and when. Default: its author, as soon as it was made. */
  ended_by: v.optional(v.string()),
  ended_at: Instant,
};
const SeedIssue = v.strictObject({
  ...issuable,
  state: v.optional(v.picklist(["opened", "closed"]), "opened"),
  confidential: v.optional(v.boolean(), false),
  due_date: v.optional(Day),
  weight: v.optional(v.number()),
});
const SeedMergeRequest = v.strictObject({
  ...issuable,
  state: v.optional(v.picklist(["opened", "closed", "merged"]), "opened"),
  source_branch: v.string(),
  target_branch: v.optional(v.string(), "main"),
});
/** A push, as a hook would tell of it. */
const SeedPush = v.strictObject({
  author: v.string(),
  ref: v.string(),
  ref_type: v.optional(v.picklist(["branch", "tag"]), "branch"),
  action: v.optional(v.picklist(["created", "removed", "pushed"]), "pushed"),
  commit_count: v.optional(v.number(), 1),
  commit_from: v.optional(v.string()),
  commit_to: v.optional(v.string()),
  commit_title: v.optional(v.string()),
  created_at: Instant,
});
const upTo = (max: number) => v.pipe(v.string(), v.maxLength(max));
const SeedDependency = v.strictObject({
  name: v.pipe(upTo(LONGEST.name), v.nonEmpty()),
  version: upTo(LONGEST.version),
  package_manager: v.picklist(PACKAGE_MANAGERS),
  dependency_file_path: v.pipe(upTo(LONGEST.path), v.nonEmpty()),
  vulnerabilities: v.optional(
    v.array(v.strictObject({ name: v.string(), severity: v.picklist(SEVERITIES) })),
    [],
  ),
});
const SeedProject = v.strictObject({
  path: v.string(),
  name: v.optional(v.string()),
  description: v.optional(v.string()),
  visibility: v.optional(words(VISIBILITIES), "private"),
  default_branch: v.optional(v.string()),
  topics: v.optional(v.array(v.string())),
  members: v.optional(SeedMembers, {}),
  labels: v.optional(v.array(SeedLabel), []),
  milestones: v.optional(v.array(SeedMilestone), []),
  badges: v.optional(v.array(SeedBadge), []),
  dependencies: v.optional(v.array(SeedDependency), []),
  /** User names of those who starred it. */
  starred_by: v.optional(v.array(v.string()), []),
  wiki: v.optional(v.array(SeedWikiPage), []),
  /** In the order of their numbers. What happened to them is told by events of their times. */
  issues: v.optional(v.array(SeedIssue), []),
  merge_requests: v.optional(v.array(SeedMergeRequest), []),
  pushes: v.optional(v.array(SeedPush), []),
});
const groupEntries = {
  path: v.string(),
  name: v.optional(v.string()),
  description: v.optional(v.string()),
  visibility: v.optional(words(VISIBILITIES), "private"),
  members: v.optional(SeedMembers, {}),
  labels: v.optional(v.array(SeedLabel), []),
  milestones: v.optional(v.array(SeedMilestone), []),
  badges: v.optional(v.array(SeedBadge), []),
  boards: v.optional(v.array(SeedBoard), []),
  projects: v.optional(v.array(SeedProject), []),
};
const SeedGroupAlone = v.strictObject(groupEntries);
type SeedGroupInput = v.InferInput<typeof SeedGroupAlone> & {
  subgroups?: SeedGroupInput[] | undefined;
};
type SeedGroupOutput = v.InferOutput<typeof SeedGroupAlone> & { subgroups: SeedGroupOutput[] };
const SeedGroup: v.GenericSchema<SeedGroupInput, SeedGroupOutput> = v.strictObject({
  ...groupEntries,
  subgroups: v.optional(v.array(v.lazy(() => SeedGroup)), []),
});
const SeedSchema = v.strictObject({
  users: v.optional(v.array(SeedUser), []),
  groups: v.optional(v.array(SeedGroup), []),
  /** Users' own projects; `namespace` is the user name. */
  projects: v.optional(
    v.array(v.strictObject({ ...SeedProject.entries, namespace: v.string() })),
    [],
  ),
});

/** What a database is filled with: plain data, as a JSON file has it (docs/testing.md). */
export type Seed = v.InferInput<typeof SeedSchema>;

/** What a seed made. */
export interface Seeded {
  users: number;
  groups: number;
  projects: number;
  labels: number;
  milestones: number;
  boards: number;
  badges: number;
  issues: number;
  merge_requests: number;
  notes: number;
  events: number;
  dependencies: number;
  /** The secrets of the tokens, in the order of the seed; they are nowhere else. */
  tokens: { username: string; token: string }[];
}

/** A seed that can't be used: the message names the place and what is wrong there. */
export class SeedError extends Error {
  override readonly name = "SeedError";
}

/** Is told how far seeding is: records made, and records in all. */
export type Progress = (done: number, total: number) => void;

/**
 * Fills a database, in one transaction.
 *
 * @param data a {@link Seed}, checked here
 * @throws SeedError where the data is malformed or names what isn't there
 */
export async function seed(
  store: Store,
  data: unknown,
  now: number,
  onProgress: Progress = () => undefined,
): Promise<Seeded> {
  const parsed = v.safeParse(SeedSchema, data);
  if (!parsed.success) {
    const [issue] = parsed.issues;
    throw new SeedError(`${v.getDotPath(issue) ?? "seed"}: ${issue.message}`);
  }
  const hashes = new Map<string, string>();
  for (const { username, password } of parsed.output.users) {
    if (password !== undefined) hashes.set(username, await hashPassword(password));
  }
  return store.transaction((db) =>
    new Seeding(db, now, countRecords(parsed.output), onProgress).run(parsed.output, hashes),
  );
}

function countRecords(data: v.InferOutput<typeof SeedSchema>): number {
  const inAll = (projects: readonly v.InferOutput<typeof SeedProject>[]) =>
    projects.reduce(
      (sum, { labels, issues, merge_requests, pushes }) =>
        sum + 1 + labels.length + issues.length + merge_requests.length + pushes.length,
      0,
    );
  const within = (group: SeedGroupOutput): number =>
    1 +
    group.labels.length +
    inAll(group.projects) +
    group.subgroups.reduce((sum, subgroup) => sum + within(subgroup), 0);
  return (
    data.users.length +
    data.groups.reduce((sum, group) => sum + within(group), 0) +
    inAll(data.projects)
  );
}

type Owner = Parameters<typeof labels.insert>[1];
type ProjectOwner = Owner & { namespaceId: number; fullPath: string };

class Seeding {
  readonly #db: Database;
  readonly #now: number;
  readonly #total: number;
  readonly #onProgress: Progress;
  readonly #userIds = new Map<string, number>();
  #events: events.PastEvent[] = [];
  #done = 0;
  readonly #made: Seeded = {
    users: 0,
    groups: 0,
    projects: 0,
    labels: 0,
    milestones: 0,
    boards: 0,
    badges: 0,
    issues: 0,
    merge_requests: 0,
    notes: 0,
    events: 0,
    dependencies: 0,
    tokens: [],
  };

  constructor(db: Database, now: number, total: number, onProgress: Progress) {
    this.#db = db;
    this.#now = now;
    this.#total = total;
    this.#onProgress = onProgress;
  }

  async run(
    data: v.InferOutput<typeof SeedSchema>,
    hashes: ReadonlyMap<string, string>,
  ): Promise<Seeded> {
    for (const user of data.users) await this.#user(user, hashes.get(user.username));
    for (const group of data.groups) await this.#group(group, undefined);
    for (const project of data.projects) {
      const namespace = await groups.findByPath(this.#db, project.namespace);
      if (!namespace) throw new SeedError(`there is no namespace ${project.namespace}`);
      const id = await this.#project(project, namespace);
      if (namespace.owner_id !== null) {
        await this.#member({ column: "project_id", id }, namespace.owner_id, "maintainer");
      }
    }
    return this.#made;
  }

  #advance(): void {
    this.#done += 1;
    this.#onProgress(this.#done, this.#total);
  }

  async #user(user: v.InferOutput<typeof SeedUser>, password_hash: string | undefined) {
    const { username, name = username, email = `${username}@example.com` } = user;
    await requireFree(this.#db, { username, email });
    const { admin, external, state } = user;
    const id = await users.insert(
      this.#db,
      { username, name, email, password_hash, admin, external, state },
      this.#now,
    );
    this.#userIds.set(username, id);
    for (const token of user.tokens) await this.#token(username, id, token);
    this.#made.users += 1;
    this.#advance();
  }

  async #token(username: string, user_id: number, token: v.InferOutput<typeof SeedToken>) {
    const { token: secret = newSecret().secret, name, scopes, expires_at, impersonation } = token;
    await tokens.insert(
      this.#db,
      { user_id, name, digest: digestOf(secret), scopes, expires_at, impersonation },
      this.#now,
    );
    this.#made.tokens.push({ username, token: secret });
  }

  async #group(group: SeedGroupOutput, parent: groups.Namespace | undefined) {
    const fullPath = parent ? `${parent.full_path}/${group.path}` : group.path;
    if (await groups.isTaken(this.#db, fullPath)) throw new SeedError(`${fullPath} is taken`);
    const id = await groups.insert(
      this.#db,
      {
        kind: "group",
        name: group.name ?? group.path,
        path: group.path,
        parent,
        description: group.description,
        visibility: VISIBILITIES[group.visibility],
      },
      this.#now,
    );
    const namespace = (await groups.find(this.#db, id)) as groups.Namespace;
    const owner: Owner = { column: "namespace_id", id };
    await this.#belongings(owner, group);
    for (const board of group.boards) await this.#board(id, fullPath, board);
    this.#made.groups += 1;
    this.#advance();
    for (const project of group.projects) await this.#project(project, namespace);
    for (const subgroup of group.subgroups) await this.#group(subgroup, namespace);
  }

  async #board(groupId: number, fullPath: string, board: v.InferOutput<typeof SeedBoard>) {
    const boardId = await boards.insert(this.#db, groupId, board.name, this.#now);
    for (const name of board.lists) {
      const label = await labels.findInherited(this.#db, groupId, { name });
      if (!label) throw new SeedError(`the group ${fullPath} has no label ${name}`);
      await boards.insertList(this.#db, boardId, label.id, this.#now);
    }
    this.#made.boards += 1;
  }

  async #project(
    project: v.InferOutput<typeof SeedProject>,
    namespace: groups.Namespace,
  ): Promise<number> {
    const fullPath = `${namespace.full_path}/${project.path}`;
    if (await groups.isTaken(this.#db, fullPath)) throw new SeedError(`${fullPath} is taken`);
    const id = await projects.insert(
      this.#db,
      {
        ...project,
        namespace,
        creator_id: namespace.owner_id,
        name: project.name ?? project.path,
        visibility: VISIBILITIES[project.visibility],
      },
      this.#now,
    );
    await this.#belongings({ column: "project_id", id }, project);
    await this.#dependencies(id, project.dependencies);
    for (const username of project.starred_by) {
      await projects.star(this.#db, id, this.#userId(username));
    }
    for (const { title, content, format } of project.wiki) {
      const name = nameOf(title);
      if (await wikis.isTaken(this.#db, id, name.slug)) {
        throw new SeedError(`${fullPath} has two wiki pages ${name.slug}`);
      }
      await wikis.insert(this.#db, id, { ...name, content, format }, undefined, this.#now);
    }
    this.#made.projects += 1;
    this.#advance();
    const owner: ProjectOwner = { column: "project_id", id, namespaceId: namespace.id, fullPath };
    await this.#history(project, owner);
    return id;
  }

  async #history(
    { issues, merge_requests, pushes }: v.InferOutput<typeof SeedProject>,
    project: ProjectOwner,
  ) {
    for (const push of pushes) await this.#push(push, project.id);
    await this.#flush();
    for (const issue of issues) await this.#issue(issue, project);
    for (const request of merge_requests) await this.#mergeRequest(request, project);
    await this.#flush();
  }

  async #push(push: v.InferOutput<typeof SeedPush>, project_id: number) {
    const { author, action: push_action, ref, ref_type, commit_count, created_at } = push;
    await this.#tell({
      project_id,
      author_id: this.#userId(author),
      ref,
      ref_type,
      push_action,
      commit_count,
      commit_from: push.commit_from ?? null,
      commit_to: push.commit_to ?? null,
      commit_title: push.commit_title ?? null,
      at: created_at ?? this.#now,
    });
    this.#advance();
  }

  async #issue(issue: v.InferOutput<typeof SeedIssue>, project: ProjectOwner) {
    const { title, description, confidential, due_date, weight } = issue;
    const at = issue.created_at ?? this.#now;
    const made = await issues.insert(
      this.#db,
      {
        project_id: project.id,
        author_id: this.#userId(issue.author),
        title,
        description,
        confidential,
        due_date,
        weight,
        milestone_id: await this.#milestoneId(issue.milestone, project),
      },
      at,
    );
    await this.#issuable(issues.ISSUE, "issue", issue, { ...made, at }, project);
    this.#made.issues += 1;
    this.#advance();
  }

  async #mergeRequest(request: v.InferOutput<typeof SeedMergeRequest>, project: ProjectOwner) {
    const { title, description, source_branch, target_branch } = request;
    const at = request.created_at ?? this.#now;
    const made = await mergeRequests.insert(
      this.#db,
      {
        project_id: project.id,
        author_id: this.#userId(request.author),
        title,
        description,
        source_branch,
        target_branch,
        sha: await events.headOf(this.#db, project.id, source_branch),
        milestone_id: await this.#milestoneId(request.milestone, project),
      },
      at,
    );
    const kind = mergeRequests.MERGE_REQUEST;
    await this.#issuable(kind, "merge_request", request, { ...made, at }, project);
    this.#made.merge_requests += 1;
    this.#advance();
  }

  /** What issues and merge requests have in common, and what is told of it. */
  async #issuable(
    kind: issues.Kind,
    type: "issue" | "merge_request",
    data: v.InferOutput<typeof SeedIssue> | v.InferOutput<typeof SeedMergeRequest>,
    { id, iid, at }: { id: number; iid: number; at: number },
    project: ProjectOwner,
  ) {
    const { title, author, state } = data;
    const tell = (action: events.Action, by: string, when: number) =>
      this.#tell({
        project_id: project.id,
        author_id: this.#userId(by),
        action,
        target: { type, id, iid, title },
        at: when,
      });
    await tell("created", author, at);
    await issues.replaceLabels(this.#db, kind, id, await this.#labelIds(data.labels, project));
    const assignees = data.assignees.map((username) => this.#userId(username));
    await issues.replaceAssignees(this.#db, kind, id, assignees);
    for (const note of data.notes) {
      const when = note.created_at ?? at;
      const author_id = this.#userId(note.author);
      const noteId = await notes.insert(
        this.#db,
        kind,
        { project_id: project.id, id, author_id, body: note.body },
        when,
      );
      await this.#tell({
        project_id: project.id,
        author_id,
        action: "commented",
        target: { type: "note", id: noteId },
        at: when,
      });
      this.#made.notes += 1;
    }
    if (state === "opened") return;
    const { ended_by = author, ended_at = at } = data;
    const ended =
      state === "merged"
        ? { merged_at: ended_at, merged_by_id: this.#userId(ended_by) }
        : { closed_at: ended_at, closed_by_id: this.#userId(ended_by) };
    await updateRow(this.#db, kind.table, id, { state, ...ended }, ended_at);
    await tell(state, ended_by, ended_at);
  }

  async #labelIds(names: readonly string[], project: ProjectOwner): Promise<number[]> {
    const wanted = [...new Set(names)];
    const known = await labels.findNamed(this.#db, project, wanted);
    const ids: number[] = [];
    for (const name of wanted) {
      const label = { name, color: labels.DEFAULT_COLOR };
      ids.push(known.get(name) ?? (await labels.insert(this.#db, project, label, this.#now)));
    }
    return ids;
  }

  async #milestoneId(title: string | undefined, project: ProjectOwner) {
    if (title === undefined) return undefined;
    const found = await milestones.findFor(this.#db, project, { title });
    if (!found) throw new SeedError(`${project.fullPath} has no milestone ${title}`);
    return found.id;
  }

  /** Events are kept many at a time: a history has far more of them than of anything else. */
  async #tell(event: events.PastEvent) {
    this.#events.push(event);
    if (this.#events.length >= 1000) await this.#flush();
  }

  async #flush() {
    await events.insertMany(this.#db, this.#events);
    this.#made.events += this.#events.length;
    this.#events = [];
  }

  async #dependencies(projectId: number, given: v.InferOutput<typeof SeedDependency>[]) {
    const paths = new Set(given.map(({ dependency_file_path }) => dependency_file_path));
    for (const path of paths) {
      const own = given.filter(({ dependency_file_path }) => dependency_file_path === path);
      await dependencies.replaceFile(this.#db, projectId, { path, dependencies: own });
    }
    this.#made.dependencies += given.length;
  }

  async #belongings(
    owner: Owner,
    has: Pick<v.InferOutput<typeof SeedProject>, "members" | "labels" | "milestones" | "badges">,
  ) {
    for (const [username, role] of Object.entries(has.members)) {
      await this.#member(owner, this.#userId(username), role);
    }
    for (const label of has.labels) {
      await labels.insert(this.#db, owner, label, this.#now);
      this.#made.labels += 1;
      this.#advance();
    }
    for (const milestone of has.milestones) {
      const id = await milestones.insert(this.#db, owner, milestone, this.#now);
      const { state } = milestone;
      if (state !== "active") await updateRow(this.#db, "milestones", id, { state }, this.#now);
      this.#made.milestones += 1;
    }
    for (const badge of has.badges) {
      await badges.insert(this.#db, owner, badge, this.#now);
      this.#made.badges += 1;
    }
  }

  async #member(owner: Owner, user_id: number, role: Role) {
    await members.insert(this.#db, owner, { user_id, access_level: ROLES[role] }, this.#now);
  }

  #userId(username: string): number {
    const id = this.#userIds.get(username);
    if (id === undefined) throw new SeedError(`the seed has no user ${username}`);
    return id;
  }
}
