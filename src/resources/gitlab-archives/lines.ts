import * as v from "valibot";
import { VISIBILITIES } from "../../core/access/visibility.ts";
import { attachmentName } from "../../core/http/attachments.ts";
import { BRANCHES, headOfRequest, TAGS } from "../../git/refs.ts";
import type { Value } from "../../store/port.ts";
import {
  approvalRuleRows,
  badgeRow,
  boardRows,
  commitNoteRows,
  instantIn,
  issueRows,
  labelRow,
  listIn,
  memberRow,
  milestoneRow,
  numberIn,
  protectionRows,
  type Row,
  releaseRows,
  requestRows,
  snippetRows,
  textIn,
  toldIn,
} from "../bulk-imports/rows.ts";
import { isTold, type Told } from "../bulk-imports/source.ts";
import { ARCHIVED, SETTINGS } from "../exports/archived.ts";
import { ArchiveError, CHUNK, INHERITED, type Line } from "../exports/format.ts";
import { ACCESS_LEVELS } from "../projects/feature-levels.ts";
import { type Here, objectsIn, People, rowLines } from "./relations.ts";
import { type Archive, entriesOf, headOf, isTar } from "./tar.ts";
import {
  awardsOn,
  detailsIn,
  discussionsIn,
  emojiIn,
  Numbers,
  personIn,
  reviewersIn,
  versionsIn,
} from "./told.ts";

/** Bytes of the list of references in front of a repository. */
const MOST_REFS = 32 * 1024 * 1024;
const MOST_LABELS = 100_000;

/** Whether a file is an archive that GitLab has written. */
export async function isOfGitlab(archive: Archive): Promise<boolean> {
  return isTar(await headOf(archive, 512));
}

/**
 * An archive of a project, or of a group, that GitLab has written, as lines of an archive of ours: it is read once for each relation, so
 * that nothing of it is held.
 *
 * @throws ArchiveError if it is damaged, or of a GitLab before 13
 */
export async function* linesOf(archive: Archive, here: Here): AsyncGenerator<Line, undefined> {
  if (here.kind === "group") {
    const { groupLinesOf } = await import("./group-lines.ts");
    yield* groupLinesOf(archive, here);
    return undefined;
  }
  const project = await projectIn(archive);
  const reading = new Reading(archive, here);
  const { now } = here;
  yield* reading.people();
  yield* reading.repository("project.bundle", "code");
  const all = await reading.settings(project);
  yield { project: settingsIn(all, reading.branch, reading.topics(project)) };
  yield* reading.rowsOf("labels", (told) => reading.label(told));
  yield* reading.rowsOf("milestones", (told) => reading.milestone(told));
  yield* reading.rowsOf("project_badges", (told) => reading.badge(told));
  yield* reading.rowsOf("project_members", (told) => {
    const user = personIn(told["user"]) ?? { id: told["user_id"] };
    const { access_level, expires_at, created_at } = told;
    return [memberRow({ ...user, access_level, expires_at, created_at }, now)];
  });
  for (const table of ["protected_branches", "protected_tags"] as const) {
    yield* reading.rowsOf(table, (told) => reading.protection(told, table));
  }
  yield* reading.rowsOf("approval_rules", (told) => reading.approvalRule(told));
  yield* reading.rowsOf("issues", (told) => reading.issue(told));
  yield* reading.rowsOf("merge_requests", (told) => reading.request(told));
  yield* reading.rowsOf("boards", (told) => reading.board(told));
  yield* reading.rowsOf("releases", (told) => reading.release(told));
  yield* reading.rowsOf("snippets", (told) => reading.snippet(told));
  yield* reading.rowsOf("commit_notes", (told) => reading.commitNote(told));
  yield* reading.repository("project.wiki.bundle", "wiki");
  yield* reading.files();
  yield { end: true };
  return undefined;
}

/** What the archive says of the project itself. */
async function projectIn(archive: Archive): Promise<Told> {
  let isOld = false;
  for await (const { name, bytes } of entriesOf(archive)) {
    if (name === "tree/project.json") {
      for await (const told of objectsIn(bytes)) return told;
    }
    isOld ||= name === "project.json";
  }
  throw new ArchiveError(
    isOld
      ? "the archive is of a GitLab before 13.0"
      : "the archive has no tree/project.json: it is none of a project of GitLab",
  );
}

/** Reads one archive, and knows what its records name. */
class Reading {
  readonly #archive: Archive;
  readonly #now: number;
  readonly #numbers = new Numbers();
  /** The numbers of labels by their names, and of milestones by their titles. */
  readonly #labels = new Map<string, number>();
  readonly #milestones = new Map<string, number>();
  /** The protected branches by their names. */
  readonly #branches = new Map<string, number>();
  /** The commits that have notes, and the first notes of the discussions on commits. */
  readonly #noted = new Map<string, number>();
  readonly #threads = new Map<string, unknown>();
  readonly #people: People;
  readonly #isNamed = (id: unknown) => this.#people.has(id);
  /** The branch that the repository names first. */
  branch: string | undefined;

  constructor(archive: Archive, { now, namesHere }: Here) {
    this.#archive = archive;
    this.#now = now;
    this.#people = new People(namesHere);
  }

  /** The objects of a relation. */
  async *#relation(name: string): AsyncGenerator<Told> {
    for await (const entry of entriesOf(this.#archive)) {
      if (entry.name === `tree/project/${name}.ndjson`) {
        yield* objectsIn(entry.bytes);
        return;
      }
    }
  }

  /** What the archive says of the project and, in relations of their own, of its features and its CI. */
  async settings(project: Told): Promise<Told> {
    let all = project;
    for (const name of ["project_feature", "ci_cd_settings"]) {
      for await (const told of this.#relation(name)) all = { ...all, [name]: told };
    }
    return all;
  }

  /** Who the members are and, since GitLab 17, who else has done something: nobody else has a name. */
  async *people(): AsyncGenerator<Line> {
    for (const name of ["project_members", "user_contributions"]) {
      yield* this.#people.namedIn(this.#relation(name));
    }
  }

  /** The rows of a relation, those of some records by their tables. */
  rowsOf(name: string, rowsOf: (told: Told) => Row[]): AsyncGenerator<Line> {
    return rowLines(this.#relation(name), rowsOf, ARCHIVED);
  }

  label(told: Told): Row[] {
    const name = textIn(told["title"]) ?? "";
    if (this.#labels.has(name)) return [];
    if (this.#labels.size > MOST_LABELS) throw new ArchiveError("the archive has too many labels");
    const id = this.#numbers.next();
    this.#labels.set(name, id);
    const [first] = listIn(told["priorities"]);
    const row = labelRow({ ...told, id, name, priority: first?.["priority"] }, this.#now);
    return [inherited(row, told["type"] === "GroupLabel" || told["group_id"] != null)];
  }

  milestone(told: Told): Row[] {
    const title = textIn(told["title"]) ?? "";
    if (this.#milestones.has(title)) return [];
    if (this.#milestones.size > MOST_LABELS) {
      throw new ArchiveError("the archive has too many milestones");
    }
    const id = this.#numbers.next();
    this.#milestones.set(title, id);
    const row = milestoneRow({ ...told, id });
    // Those of groups have numbers that the project's own may have, too.
    const isGroups = told["group_id"] != null;
    return [inherited(isGroups ? { ...row, values: { ...row.values, iid: null } } : row, isGroups)];
  }

  /** What a record names; labels and milestones of groups become rows, too. */
  #naming(told: Told) {
    const links = listIn(told["label_links"]).map(({ label }) => toldIn(label));
    const ofEvents = listIn(told["resource_label_events"]).map(({ label }) => toldIn(label));
    const milestone = toldIn(told["milestone"]);
    const events = listIn(told["resource_milestone_events"]);
    const milestones = [milestone, ...events.map((event) => toldIn(event["milestone"]))];
    const rows = [...links, ...ofEvents].flatMap((label) =>
      textIn(label["title"]) === null ? [] : this.label(label),
    );
    for (const one of milestones) {
      if (textIn(one["title"]) !== null) rows.push(...this.milestone(one));
    }
    const named = {
      label: (name: unknown) => this.#labels.get(String(name)),
      milestone: (id: unknown) => (numberIn(id) === null ? undefined : (id as number)),
    };
    const id = this.#milestones.get(String(milestone["title"]));
    const labels = links.map(({ title }) => title);
    return { rows, named, common: { labels, milestone: id === undefined ? null : { id } } };
  }

  badge(told: Told): Row[] {
    return [badgeRow({ ...told, id: this.#numbers.next() }, this.#now)];
  }

  approvalRule(told: Told): Row[] {
    const rule = {
      ...told,
      id: this.#numbers.next(),
      users: listIn(told["approval_project_rules_users"]).map(({ user_id: id }) => ({ id })),
      protected_branches: listIn(told["approval_project_rules_protected_branches"]).map(
        ({ branch_name: name }) => ({ name }),
      ),
    };
    return approvalRuleRows(rule, this.#branches, this.#now);
  }

  protection(told: Told, table: "protected_branches" | "protected_tags"): Row[] {
    const id = this.#numbers.next();
    if (table === "protected_branches" && this.#branches.size < MOST_LABELS) {
      this.#branches.set(String(told["name"]), id);
    }
    return protectionRows({ ...told, id }, table, this.#now).map((row) =>
      row.table === "protection_grants"
        ? { ...row, values: { ...row.values, id: this.#numbers.next() } }
        : row,
    );
  }

  issue(told: Told): Row[] {
    const { rows, named, common } = this.#naming(told);
    const details = detailsIn(told, this.#numbers, this.#milestones, this.#isNamed);
    const issue = {
      ...told,
      ...common,
      id: this.#numbers.next(),
      author: { id: told["author_id"] },
      assignees: listIn(told["issue_assignees"]).map(({ user_id: id }) => ({ id })),
      closed_by: { id: told["closed_by_id"] },
      time_stats: timesIn(told),
      issue_type: told["issue_type"] ?? toldIn(told["work_item_type"])["base_type"],
    };
    return [...rows, ...issueRows(issue, details, named), ...this.#times("issue", told, issue.id)];
  }

  request(told: Told): Row[] {
    const { rows, named, common } = this.#naming(told);
    const metrics = toldIn(told["metrics"]);
    const merging = toldIn(told["merge_params"]);
    const details = {
      ...detailsIn(told, this.#numbers, this.#milestones, this.#isNamed),
      versions: versionsIn(told, this.#numbers),
      approvals: {
        approved_by: listIn(told["approvals"]).map(({ user_id: id, created_at }) => ({
          user: { id },
          approved_at: created_at,
        })),
      },
      reviewers: reviewersIn(told),
    };
    const isMerged = told["state"] === "merged";
    const request = {
      ...told,
      ...common,
      id: this.#numbers.next(),
      author: { id: told["author_id"] },
      assignees: listIn(told["merge_request_assignees"]).map(({ user_id: id }) => ({ id })),
      closed_by: { id: metrics["latest_closed_by_id"] },
      closed_at: isMerged ? null : metrics["latest_closed_at"],
      sha: told["diff_head_sha"] ?? told["source_branch_sha"],
      merged_at: isMerged ? (metrics["merged_at"] ?? told["updated_at"]) : null,
      merge_user: { id: metrics["merged_by_id"] ?? told["merge_user_id"] },
      time_stats: timesIn(told),
      force_remove_source_branch: merging["force_remove_source_branch"],
      should_remove_source_branch: merging["should_remove_source_branch"],
    };
    const times = this.#times("merge_request", told, request.id);
    // Versions whose commits are not in the repository are forgotten at the end.
    return [...rows, ...requestRows(request, details, named, () => true), ...times];
  }

  /** Entries of spent time. */
  #times(prefix: "issue" | "merge_request", told: Told, id: number): Row[] {
    const on = { issue_id: null, merge_request_id: null, [`${prefix}_id`]: id };
    return listIn(told["timelogs"]).map((one) => {
      const at = instantIn(one["created_at"]) ?? this.#now;
      const { user_id, time_spent, summary } = one;
      const spent_at = instantIn(one["spent_at"]) ?? at;
      const values = { user_id, time_spent, summary: textIn(summary), spent_at, created_at: at };
      return { table: "timelogs", values: { id: this.#numbers.next(), ...on, ...values } };
    });
  }

  board(told: Told): Row[] {
    const { rows, named, common } = this.#naming(told);
    const lists = listIn(told["lists"]);
    for (const { label } of lists) if (isTold(label)) rows.push(...this.label(label));
    const board = {
      ...told,
      id: this.#numbers.next(),
      name: told["name"] ?? "Development",
      lists: lists.map(({ label, position }) => ({
        ...{ id: this.#numbers.next(), position },
        label: { name: toldIn(label)["title"] },
      })),
      ...{ labels: [], milestone: common.milestone, assignee: null },
    };
    return [...rows, ...boardRows(board, named, this.#now)];
  }

  release(told: Told): Row[] {
    const milestones = listIn(told["milestone_releases"]).map(({ milestone }) =>
      this.#naming({ milestone }),
    );
    const { named } = this.#naming({});
    const links = listIn(told["links"]).map((link) => ({
      ...{ ...link, id: this.#numbers.next() },
      // Of such an address, the API tells the path.
      direct_asset_url: `/releases/-/downloads${textIn(link["filepath"]) ?? ""}`,
    }));
    const release = {
      ...{ ...told, tag_name: told["tag"], author: { id: told["author_id"] } },
      commit: { id: told["sha"] },
      assets: { links: links.reverse() },
      milestones: milestones.flatMap(({ common }) => common.milestone ?? []),
    };
    const id = this.#numbers.next();
    const rows = releaseRows(release, named).map((row) => {
      const isRelease = row.table === "releases";
      return { ...row, values: { ...row.values, ...(isRelease ? { id } : { release_id: id }) } };
    });
    return [...milestones.flatMap((one) => one.rows), ...rows];
  }

  snippet(told: Told): Row[] {
    const files = new Map([
      [textIn(told["file_name"]) || "snippet.txt", textIn(told["content"]) ?? ""],
      // Our own archives have them; GitLab's have repositories.
      ...listIn(told["files"]).map(({ path, content }) => [String(path), String(content)] as const),
    ]);
    const discussions = discussionsIn(told, this.#numbers, this.#isNamed);
    const noteEmoji = awardsOn(discussions, this.#numbers);
    const emoji = emojiIn(told["award_emoji"], this.#numbers);
    const about = { discussions, emoji, noteEmoji };
    const snippet = { ...told, id: this.#numbers.next(), author: { id: told["author_id"] } };
    return snippetRows(snippet, files, about, numberIn(told["visibility_level"]) ?? 0);
  }

  /** A note on a commit. */
  commitNote(told: Told): Row[] {
    const sha = String(told["commit_id"]);
    const known = this.#noted.get(sha);
    const id = known ?? this.#numbers.next();
    if (this.#noted.size < MOST_LABELS) this.#noted.set(sha, id);
    const notes = [{ ...told, commit_id: null }];
    const discussions = discussionsIn({ notes }, this.#numbers, this.#isNamed);
    const noteEmoji = awardsOn(discussions, this.#numbers);
    const rows = commitNoteRows({ id, sha }, discussions, noteEmoji, known === undefined);
    const discussion = textIn(told["discussion_id"]);
    if (discussion === null) return rows;
    const first = this.#threads.get(discussion);
    const number = listIn(discussions[0]?.["notes"])[0]?.["id"];
    if (this.#threads.size < MOST_LABELS && first === undefined)
      this.#threads.set(discussion, number);
    return first === undefined
      ? rows
      : rows.map(({ table, values }) =>
          table === "notes"
            ? { table, values: { ...values, thread_id: first, reply: 1 } }
            : { table, values },
        );
  }

  /** The topics of the project. */
  topics(project: Told): string[] {
    const list = project["topics"] ?? project["tag_list"];
    const names = typeof list === "string" ? list.split(",") : Array.isArray(list) ? list : [];
    return names
      .map((name) => (isTold(name) ? name["name"] : name))
      .filter((name) => typeof name === "string")
      .map((name) => name.trim().slice(0, 255))
      .filter((name) => name !== "")
      .slice(0, 100);
  }

  /** A repository, which is a bundle (gitformat-bundle(5)): its references, then a pack. */
  async *repository(file: string, repository: "code" | "wiki"): AsyncGenerator<Line> {
    for await (const { name, bytes } of entriesOf(this.#archive)) {
      if (name !== file) continue;
      const bundle = await Bundle.open(bytes);
      if (!bundle) return;
      const refs = bundle.refs.filter(
        ([ref]) =>
          ref.startsWith(BRANCHES) ||
          (repository === "code" && (ref.startsWith(TAGS) || headOfRequest.test(ref))),
      );
      const head = bundle.branch;
      if (repository === "code") this.branch = head;
      if (refs.length === 0) return;
      yield { repository, refs, head: head ?? null };
      yield* inLines(bundle.pack());
      return;
    }
  }

  /** Files that texts refer to, objects of Git LFS, and the picture. */
  async *files(): AsyncGenerator<Line> {
    for await (const { name, bytes } of entriesOf(this.#archive)) {
      const [, secret, file] = /^uploads\/([0-9a-f]{32})\/([^/]{1,255})$/.exec(name) ?? [];
      const [, oid] = /^lfs-objects\/([0-9a-f]{64})$/.exec(name) ?? [];
      const [, picture] = /^avatar\/(?:[^/]+\/)*([^/]{1,255})$/.exec(name) ?? [];
      if (secret !== undefined && file !== undefined && file.trim() !== "") {
        const file_name = attachmentName(file);
        yield { upload: { secret, file_name, created_at: this.#now, uploader_id: null } };
      } else if (oid !== undefined) yield { lfs: oid };
      else if (picture !== undefined && picture.trim() !== "")
        yield { avatar: { file_name: picture } };
      else continue;
      yield* inLines(bytes);
    }
  }
}

async function* inLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; at += CHUNK) {
      yield { bytes: chunk.toString("base64", at, Math.min(at + CHUNK, chunk.length)) };
    }
  }
}

/** A row that may be of a group above the project: if there is the same one here, too, it stands for it. */
const inherited = ({ table, values }: Row, isGroups: boolean): Row => ({
  table,
  values: { ...values, [INHERITED]: Number(isGroups) },
});

const timesIn = (told: Told) => ({
  time_estimate: told["time_estimate"],
  total_time_spent: listIn(told["timelogs"]).reduce(
    (sum, { time_spent }) => sum + (numberIn(time_spent) ?? 0),
    0,
  ),
});

/** The levels of features there, and here: 20 and 30 let everybody use them who may see the project. */
const LEVELS: Readonly<Record<number, number>> = { 0: 0, 10: 2, 20: 1, 30: 1 };

/** The settings of the project that are settings here. */
function settingsIn(
  project: Told,
  branch: string | undefined,
  topics: readonly string[],
): Record<string, Value> {
  const features = toldIn(project["project_feature"]);
  const levels = Object.entries(ACCESS_LEVELS).map(
    ([name, column]) => [column, LEVELS[numberIn(features[name]) ?? -1]] as const,
  );
  const ff = project["merge_requests_ff_only_enabled"] === true;
  const all: Readonly<Record<string, unknown>> = {
    ...project,
    public_jobs: project["public_builds"],
    ci_default_git_depth: toldIn(project["ci_cd_settings"])["default_git_depth"],
    visibility: numberIn(project["visibility_level"]) ?? VISIBILITIES.private,
    default_branch: textIn(project["default_branch"]) ?? branch,
    topics: JSON.stringify(topics),
    merge_method: ff
      ? "ff"
      : project["merge_requests_rebase_enabled"] === true
        ? "rebase_merge"
        : "merge",
    ...Object.fromEntries(levels),
  };
  const known = Object.entries(SETTINGS).flatMap(([name, { schema }]) => {
    const value = all[name];
    const stored = typeof value === "boolean" ? Number(value) : value;
    return stored != null && v.is(schema, stored) ? [[name, stored as Value] as const] : [];
  });
  return Object.fromEntries(known);
}

/** A bundle of a repository. */
class Bundle {
  readonly refs: readonly (readonly [name: string, oid: string])[];
  readonly #head: string | undefined;
  readonly #rest: Buffer;
  readonly #bytes: AsyncGenerator<Buffer>;

  private constructor(lines: readonly string[], rest: Buffer, bytes: AsyncGenerator<Buffer>) {
    const refs: (readonly [string, string])[] = [];
    let head: string | undefined;
    for (const line of lines) {
      if (line.startsWith("-")) throw new ArchiveError("a repository is not complete");
      if (line.startsWith("@")) {
        if (line !== "@object-format=sha1") throw new ArchiveError("a repository has SHA-256");
        continue;
      }
      const [, oid, name] = /^([0-9a-f]{40}) (.{1,1024})$/.exec(line) ?? [];
      if (oid === undefined || name === undefined)
        throw new ArchiveError("a repository is damaged");
      if (name === "HEAD") head = oid;
      else refs.push([name, oid]);
    }
    this.refs = refs;
    this.#head = head;
    this.#rest = rest;
    this.#bytes = bytes;
  }

  /** Reads the list of references. @returns nothing if the file is empty @throws ArchiveError if it is none */
  static async open(bytes: AsyncGenerator<Buffer>): Promise<Bundle | undefined> {
    const parts: Buffer[] = [];
    let length = 0;
    let tail = "";
    for (;;) {
      const { done, value } = await bytes.next();
      if (done) {
        if (length === 0) return undefined;
        throw new ArchiveError("a repository is cut short");
      }
      parts.push(value);
      length += value.length;
      if (length > MOST_REFS) throw new ArchiveError("a repository has too many references");
      const seen = tail + value.toString("latin1");
      tail = seen.slice(-1);
      if (seen.includes("\n\n")) break;
    }
    const all = Buffer.concat(parts);
    const end = all.indexOf("\n\n");
    const [first, ...lines] = all.toString("utf8", 0, end).split("\n");
    if (first !== "# v2 git bundle" && first !== "# v3 git bundle") {
      throw new ArchiveError("a repository is no bundle of Git");
    }
    return new Bundle(lines, all.subarray(end + 2), bytes);
  }

  /** The name of the default branch: the one that is where HEAD is. */
  get branch(): string | undefined {
    const branches = this.refs.filter(([name]) => name.startsWith(BRANCHES));
    const names = branches.filter(([, oid]) => oid === this.#head).map(([name]) => name);
    const usual = ["main", "master"].map((name) => BRANCHES + name);
    const found = usual.find((name) => names.includes(name)) ?? names[0] ?? branches[0]?.[0];
    return found?.slice(BRANCHES.length);
  }

  async *pack(): AsyncGenerator<Buffer> {
    if (this.#rest.length > 0) yield this.#rest;
    yield* this.#bytes;
  }
}
