import { createHash } from "node:crypto";
import * as v from "valibot";
import { hashPassword } from "../auth/passwords.ts";
import { digestOf, newSecret } from "../auth/token-secrets.ts";
import { ROLES, type Role } from "../core/access/roles.ts";
import { VISIBILITIES, VISIBILITY_WORDS } from "../core/access/visibility.ts";
import { problemOf } from "../core/options.ts";
import * as awards from "../resources/award-emoji/queries.ts";
import * as badges from "../resources/badges/queries.ts";
import * as boards from "../resources/boards/queries.ts";
import * as dependencies from "../resources/dependencies/queries.ts";
import * as events from "../resources/events/record.ts";
import * as groups from "../resources/groups/queries.ts";
import { ISSUE } from "../resources/issuables/issue.ts";
import { MERGE_REQUEST } from "../resources/issuables/merge-request.ts";
import * as issuables from "../resources/issuables/queries.ts";
import * as todos from "../resources/issuables/todos.ts";
import type { IssuableType } from "../resources/issuables/type.ts";
import * as issues from "../resources/issues/queries.ts";
import * as labels from "../resources/labels/queries.ts";
import * as members from "../resources/members/queries.ts";
import * as mergeRequests from "../resources/merge-requests/queries.ts";
import * as milestones from "../resources/milestones/queries.ts";
import * as notes from "../resources/notes/queries.ts";
import * as notifications from "../resources/notification-settings/queries.ts";
import * as projects from "../resources/projects/queries.ts";
import * as tokens from "../resources/tokens/queries.ts";
import * as users from "../resources/users/queries.ts";
import { requireFree } from "../resources/users/rules.ts";
import * as wikis from "../resources/wikis/queries.ts";
import { attachmentName, nameOf } from "../resources/wikis/rules.ts";
import type { Database, Store } from "../store/port.ts";
import { updateRow } from "../store/update.ts";
import {
  type SeedAwardEmoji,
  type SeedBoard,
  type SeedData,
  type SeedDependency,
  type SeedGroup,
  type SeedIssue,
  type SeedMergeRequest,
  type SeedNotificationSettings,
  type SeedProject,
  type SeedPush,
  SeedSchema,
  type SeedToken,
  type SeedUser,
} from "./schema.ts";

export type { Seed } from "./input.ts";

/** How many records a seed created. */
export interface Seeded {
  users: number;
  groups: number;
  projects: number;
  labels: number;
  milestones: number;
  boards: number;
  badges: number;
  wiki_pages: number;
  dependencies: number;
  issues: number;
  merge_requests: number;
  notes: number;
  todos: number;
  award_emoji: number;
  notification_settings: number;
  events: number;
  /** The tokens' secrets in the order of the seed; only their digests are stored. */
  tokens: { username: string; token: string }[];
}

/** A seed that can't be used; the message says what is wrong and where. */
export class SeedError extends Error {
  override readonly name = "SeedError";
}

/** Called with the progress: records done, and records in total. */
export type Progress = (done: number, total: number) => void;

/**
 * Fills a database in one transaction.
 *
 * @param data a {@link Seed}, checked here
 * @throws SeedError if the data is malformed or refers to something that doesn't exist
 */
export async function seed(
  store: Store,
  data: unknown,
  now: number,
  onProgress: Progress = () => undefined,
): Promise<Seeded> {
  const parsed = v.safeParse(SeedSchema, data);
  if (!parsed.success) {
    const { path, problem } = problemOf(parsed.issues);
    throw new SeedError(`${path || "seed"}: ${problem}`);
  }
  const hashes = new Map<string, string>();
  for (const { username, password } of parsed.output.users) {
    if (password !== undefined) hashes.set(username, await hashPassword(password));
  }
  return store.transaction((db) =>
    new Seeding(db, now, countRecords(parsed.output), onProgress).run(parsed.output, hashes),
  );
}

function countRecords(data: SeedData): number {
  const inAll = (projects: readonly SeedProject[]) =>
    projects.reduce(
      (sum, { labels, issues, merge_requests, pushes }) =>
        sum + 1 + labels.length + issues.length + merge_requests.length + pushes.length,
      0,
    );
  const within = (group: SeedGroup): number =>
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
/** A project being seeded, with the labels and milestones already looked up for it. */
type ProjectOwner = Owner & {
  namespaceId: number;
  fullPath: string;
  labelIds: Map<string, number>;
  milestoneIds: Map<string, number>;
};

class Seeding {
  readonly #db: Database;
  readonly #now: number;
  readonly #total: number;
  readonly #onProgress: Progress;
  readonly #userIds = new Map<string, number>();
  #events: events.PastEvent[] = [];
  #lastEvent = 0;
  #done = 0;
  readonly #made: Seeded = {
    users: 0,
    groups: 0,
    projects: 0,
    labels: 0,
    milestones: 0,
    boards: 0,
    badges: 0,
    wiki_pages: 0,
    dependencies: 0,
    issues: 0,
    merge_requests: 0,
    notes: 0,
    todos: 0,
    award_emoji: 0,
    notification_settings: 0,
    events: 0,
    tokens: [],
  };

  constructor(db: Database, now: number, total: number, onProgress: Progress) {
    this.#db = db;
    this.#now = now;
    this.#total = total;
    this.#onProgress = onProgress;
  }

  async run(data: SeedData, hashes: ReadonlyMap<string, string>): Promise<Seeded> {
    for (const user of data.users) await this.#user(user, hashes.get(user.username));
    for (const group of data.groups) await this.#group(group, undefined);
    for (const project of data.projects) {
      const namespace = await groups.findByPath(this.#db, project.namespace);
      if (!namespace) throw new SeedError(`there is no namespace ${project.namespace}`);
      const id = await this.#project(project, namespace);
      if (namespace.owner_id !== null) {
        const at = project.created_at ?? this.#now;
        await this.#member({ column: "project_id", id }, namespace.owner_id, "maintainer", at);
      }
    }
    return this.#made;
  }

  #advance(): void {
    this.#done += 1;
    this.#onProgress(this.#done, this.#total);
  }

  async #user(user: SeedUser, password_hash: string | undefined) {
    const { username, name = username, email = `${username}@example.com` } = user;
    await requireFree(this.#db, { username, email });
    const { admin, external, state } = user;
    const id = await users.insert(
      this.#db,
      { username, name, email, password_hash, admin, external, state },
      user.created_at ?? this.#now,
    );
    this.#userIds.set(username, id);
    for (const token of user.tokens) await this.#token(username, id, token);
    if (user.notification_settings) await this.#notify(id, "global", user.notification_settings);
    this.#made.users += 1;
    this.#advance();
  }

  async #token(username: string, user_id: number, token: SeedToken) {
    const { token: secret = newSecret().secret, name, scopes, expires_at, impersonation } = token;
    await tokens.insert(
      this.#db,
      { user_id, name, digest: digestOf(secret), scopes, expires_at, impersonation },
      this.#now,
    );
    this.#made.tokens.push({ username, token: secret });
  }

  async #notify(userId: number, scope: notifications.Scope, settings: SeedNotificationSettings) {
    const { level, ...flags } = settings;
    const kept = { level, notification_email: null, flags: flags as notifications.Flags };
    await notifications.save(this.#db, userId, scope, kept, this.#now);
    this.#made.notification_settings += 1;
  }

  async #group(group: SeedGroup, parent: groups.Namespace | undefined) {
    const fullPath = parent ? `${parent.full_path}/${group.path}` : group.path;
    if (await groups.isTaken(this.#db, fullPath)) throw new SeedError(`${fullPath} is taken`);
    requireVisibility(fullPath, group.visibility, parent);
    const { name = group.path } = group;
    if (parent && (await groups.isNameTaken(this.#db, parent.id, name))) {
      throw new SeedError(`the name ${name} of ${fullPath} is taken`);
    }
    const id = await groups.insert(
      this.#db,
      {
        kind: "group",
        name,
        path: group.path,
        parent,
        description: group.description,
        visibility: VISIBILITIES[group.visibility],
      },
      group.created_at ?? this.#now,
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

  async #board(groupId: number, fullPath: string, board: SeedBoard) {
    const boardId = await boards.insert(this.#db, groupId, board.name, this.#now);
    for (const name of board.lists) {
      const label = await labels.findInherited(this.#db, groupId, { name });
      if (!label) throw new SeedError(`the group ${fullPath} has no label ${name}`);
      await boards.insertList(this.#db, boardId, label.id, this.#now);
    }
    this.#made.boards += 1;
  }

  async #project(project: SeedProject, namespace: groups.Namespace): Promise<number> {
    const fullPath = `${namespace.full_path}/${project.path}`;
    if (await groups.isTaken(this.#db, fullPath)) throw new SeedError(`${fullPath} is taken`);
    requireVisibility(fullPath, project.visibility, namespace);
    const { name = project.path, creator, created_at: at = this.#now } = project;
    const id = await projects.insert(
      this.#db,
      {
        ...project,
        namespace,
        creator_id: creator === undefined ? namespace.owner_id : this.#userId(creator),
        name,
        visibility: VISIBILITIES[project.visibility],
      },
      at,
    );
    this.#lastEvent = 0;
    if (creator !== undefined) {
      const target = { type: "project", id, title: name } as const;
      await this.#tell(id, creator, { action: "created", target }, at);
    }
    await this.#belongings({ column: "project_id", id }, project);
    await this.#dependencies(id, project.dependencies);
    for (const username of project.starred_by) {
      await projects.star(this.#db, id, this.#userId(username));
    }
    await this.#wiki(project, id, fullPath);
    this.#made.projects += 1;
    this.#advance();
    await this.#history(project, {
      column: "project_id",
      id,
      namespaceId: namespace.id,
      fullPath,
      labelIds: new Map(),
      milestoneIds: new Map(),
    });
    if (this.#lastEvent > at) {
      const last_activity_at = this.#lastEvent;
      await updateRow(this.#db, "projects", id, { last_activity_at }, last_activity_at);
    }
    return id;
  }

  async #wiki({ wiki, wiki_attachments }: SeedProject, projectId: number, fullPath: string) {
    const db = this.#db;
    for (const { title, content, format, author, created_at, edits } of wiki) {
      const name = nameOf(title);
      if (await wikis.isTaken(db, projectId, name.slug)) {
        throw new SeedError(`${fullPath} has two wiki pages ${name.slug}`);
      }
      const at = created_at ?? this.#now;
      await wikis.insert(db, projectId, { ...name, content, format }, this.#author(author), at);
      if (edits.length > 0) {
        const page = (await wikis.find(db, projectId, name.slug)) as wikis.WikiPage;
        for (const edit of edits) {
          const changed = { ...page, content: edit.content };
          const by = this.#author(edit.author);
          await wikis.update(db, projectId, changed, by, edit.created_at ?? at);
        }
      }
      this.#made.wiki_pages += 1;
    }
    for (const { folder, content, encoding, author, created_at, ...file } of wiki_attachments) {
      const bytes = Buffer.from(content, encoding === "text" ? "utf8" : encoding);
      const at = created_at ?? this.#now;
      const id = await wikis.beginBlob(db, projectId, at);
      await wikis.appendToBlob(db, id, 0, bytes);
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const blob_id = await wikis.finishBlob(db, projectId, { id, sha256, size: bytes.length });
      await wikis.insertAttachment(
        db,
        projectId,
        { blob_id, secret: folder, file_name: attachmentName(file.file_name), branch: "master" },
        this.#author(author),
        at,
      );
    }
  }

  #author(username: string | undefined): wikis.Author {
    return username === undefined ? undefined : { id: this.#userId(username), username };
  }

  async #history({ issues, merge_requests, pushes }: SeedProject, project: ProjectOwner) {
    for (const push of pushes) await this.#push(push, project.id);
    // Merge requests read the head of their branch from the push events.
    await this.#flush();
    // Looked up together, which takes one query instead of one per issue.
    await this.#labelIds(
      [...issues, ...merge_requests].flatMap((each) => each.labels),
      project,
    );
    for (const issue of issues) await this.#issue(issue, project);
    for (const request of merge_requests) await this.#mergeRequest(request, project);
    await this.#flush();
  }

  async #push(push: SeedPush, projectId: number) {
    const { author, action: push_action, ref, ref_type, commit_count, created_at } = push;
    const pushed = {
      ref,
      ref_type,
      push_action,
      commit_count,
      commit_from: push.commit_from ?? null,
      commit_to: push.commit_to ?? null,
      commit_title: push.commit_title ?? null,
    };
    await this.#tell(projectId, author, pushed, created_at ?? this.#now);
    this.#advance();
  }

  async #issue(issue: SeedIssue, project: ProjectOwner) {
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
    await this.#issuable(ISSUE, issue, { ...made, at }, project);
    this.#made.issues += 1;
    this.#advance();
  }

  async #mergeRequest(request: SeedMergeRequest, project: ProjectOwner) {
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
    await this.#issuable(MERGE_REQUEST, request, { ...made, at }, project);
    this.#made.merge_requests += 1;
    this.#advance();
  }

  /** Writes what issues and merge requests have in common, with its events. */
  async #issuable(
    kind: IssuableType,
    data: SeedIssue | SeedMergeRequest,
    { id, iid, at }: { id: number; iid: number; at: number },
    project: ProjectOwner,
  ) {
    const { title, author, state } = data;
    const target = { type: kind.prefix, id, iid, title };
    await this.#tell(project.id, author, { action: "created", target }, at);
    await issuables.replaceLabels(this.#db, kind, id, await this.#labelIds(data.labels, project));
    const assignees = data.assignees.map((username) => this.#userId(username));
    await issuables.replaceAssignees(this.#db, kind, id, assignees);
    for (const note of data.notes) {
      const when = note.created_at ?? at;
      const author_id = this.#userId(note.author);
      const noteId = await notes.insert(
        this.#db,
        kind,
        { project_id: project.id, id, author_id, body: note.body },
        when,
      );
      const told = { action: "commented", target: { type: "note", id: noteId } } as const;
      await this.#tell(project.id, note.author, told, when);
      await this.#award({ column: "note_id", id: noteId }, note.award_emoji, when);
      this.#made.notes += 1;
    }
    await this.#award({ column: kind.column, id }, data.award_emoji, at);
    const { ended_by = author, ended_at = at } = data;
    await this.#todos(kind, data, { projectId: project.id, id, noteId: null }, at, ended_at);
    if (state === "opened") return;
    const ended =
      state === "merged"
        ? { merged_at: ended_at, merged_by_id: this.#userId(ended_by) }
        : { closed_at: ended_at, closed_by_id: this.#userId(ended_by) };
    await updateRow(this.#db, kind.table, id, { state, ...ended }, ended_at);
    await this.#tell(project.id, ended_by, { action: state, target }, ended_at);
  }

  async #todos(
    kind: IssuableType,
    { todos: usernames, assignees, author, state }: SeedIssue | SeedMergeRequest,
    about: todos.About,
    at: number,
    endedAt: number,
  ) {
    for (const username of usernames) {
      const userId = this.#userId(username);
      const isAssigned = assignees.includes(username);
      const authorId = isAssigned ? this.#userId(author) : userId;
      const action = isAssigned ? "assigned" : "marked";
      await todos.add(this.#db, kind, about, [userId], action, authorId, at);
      if (state !== "opened") await todos.resolve(this.#db, kind, about.id, userId, endedAt);
      this.#made.todos += 1;
    }
  }

  async #award(to: awards.Awardable, given: SeedAwardEmoji, at: number) {
    for (const [name, usernames] of Object.entries(given)) {
      const { NAMES } = await import("../resources/award-emoji/names.ts");
      if (!NAMES.has(name)) throw new SeedError(`there is no emoji ${name}`);
      for (const username of usernames) {
        await awards.insert(this.#db, to, { name, user_id: this.#userId(username) }, at);
        this.#made.award_emoji += 1;
      }
    }
  }

  async #labelIds(names: readonly string[], project: ProjectOwner): Promise<number[]> {
    const wanted = [...new Set(names)];
    const ids = project.labelIds;
    const unknown = wanted.filter((name) => !ids.has(name));
    if (unknown.length > 0) {
      const found = await labels.findNamed(this.#db, project, unknown);
      for (const name of unknown) {
        const label = { name, color: labels.DEFAULT_COLOR };
        const id = found.get(name) ?? (await labels.insert(this.#db, project, label, this.#now));
        ids.set(name, id);
      }
    }
    return wanted.map((name) => ids.get(name) as number);
  }

  async #milestoneId(title: string | undefined, project: ProjectOwner) {
    if (title === undefined) return undefined;
    const known = project.milestoneIds.get(title);
    if (known !== undefined) return known;
    const found = await milestones.findFor(this.#db, project, { title });
    if (!found) throw new SeedError(`${project.fullPath} has no milestone ${title}`);
    project.milestoneIds.set(title, found.id);
    return found.id;
  }

  /** Queues an event. Events are written in batches, since a history has far more of them than of anything else. */
  async #tell(
    project_id: number,
    author: string,
    what:
      | Omit<events.NewEvent, "project_id" | "author_id">
      | Omit<events.Push, "project_id" | "author_id">,
    at: number,
  ) {
    this.#events.push({ ...what, project_id, author_id: this.#userId(author), at });
    this.#lastEvent = Math.max(this.#lastEvent, at);
    if (this.#events.length >= 1000) await this.#flush();
  }

  async #flush() {
    await events.insertMany(this.#db, this.#events);
    this.#made.events += this.#events.length;
    this.#events = [];
  }

  async #dependencies(projectId: number, given: readonly SeedDependency[]) {
    const paths = new Set(given.map(({ dependency_file_path }) => dependency_file_path));
    for (const path of paths) {
      const own = given.filter(({ dependency_file_path }) => dependency_file_path === path);
      await dependencies.replaceFile(this.#db, projectId, { path, dependencies: own });
    }
    this.#made.dependencies += given.length;
  }

  async #belongings(
    owner: Owner,
    has: Pick<
      SeedProject,
      "members" | "labels" | "milestones" | "badges" | "notification_settings" | "created_at"
    >,
  ) {
    const at = has.created_at ?? this.#now;
    for (const [username, { role, joined_at }] of Object.entries(has.members)) {
      await this.#member(owner, this.#userId(username), role, joined_at ?? at);
      if (joined_at !== undefined && owner.column === "project_id") {
        await this.#tell(owner.id, username, { action: "joined" }, joined_at);
      }
    }
    for (const [username, settings] of Object.entries(has.notification_settings)) {
      await this.#notify(this.#userId(username), owner, settings);
    }
    for (const label of has.labels) {
      await labels.insert(this.#db, owner, label, at);
      this.#made.labels += 1;
      this.#advance();
    }
    for (const milestone of has.milestones) {
      const made = milestone.created_at ?? at;
      const id = await milestones.insert(this.#db, owner, milestone, made);
      const { state } = milestone;
      if (state !== "active") await updateRow(this.#db, "milestones", id, { state }, made);
      this.#made.milestones += 1;
    }
    for (const badge of has.badges) {
      await badges.insert(this.#db, owner, badge, at);
      this.#made.badges += 1;
    }
  }

  async #member(owner: Owner, user_id: number, role: Role, at: number) {
    await members.insert(this.#db, owner, { user_id, access_level: ROLES[role] }, at);
  }

  #userId(username: string): number {
    const id = this.#userIds.get(username);
    if (id === undefined) throw new SeedError(`the seed has no user ${username}`);
    return id;
  }
}

/** Checks that a group or project is not more visible than the group it is in. @throws SeedError */
function requireVisibility(
  fullPath: string,
  visibility: keyof typeof VISIBILITIES,
  parent: groups.Namespace | undefined,
): void {
  if (parent?.kind !== "group" || VISIBILITIES[visibility] <= parent.visibility) return;
  const allowed = VISIBILITY_WORDS[parent.visibility];
  throw new SeedError(`${fullPath} can't be ${visibility}: its group is ${allowed}`);
}
