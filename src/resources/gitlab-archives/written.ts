import { readFile } from "../../files/read.ts";
import { deleteFile, storeFile } from "../../files/write.ts";
import type { ClonedFile } from "../../git/clone.ts";
import { commitNumber, readCommit, timeOf } from "../../git/commits.ts";
import { logOf } from "../../git/log.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import { tarOfFiles } from "../../git/tar.ts";
import { trailersOf } from "../../git/trailers.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Store, Value } from "../../store/port.ts";
import { Budget } from "../../turns/budget.ts";
import * as avatars from "../avatars/queries.ts";
import { ArchiveError, INHERITED, type Line } from "../exports/format.ts";
import { largeFilesIn, packOf, partsOf, settingsIn, uploadsIn } from "../exports/writer.ts";
import { changesOf, logQueryOf } from "../merge-requests/versions.ts";
import { ACCESS_LEVELS } from "../projects/feature-levels.ts";
import { diff, readAllDiffs } from "../repositories/diffs.ts";
import { findRecord, openRecord } from "../repositories/open.ts";
import * as records from "./records.ts";

/** The version of GitLab's archives since 13.0: its importer takes no other one. */
const VERSION = "0.2.4";
/** Records that are read together with what is about them. */
const SOME = 20;
/** Characters that these have at most. */
const MOST = 256 * 1024 * 1024;
/** Commits and files of a merge request. */
const MOST_COMMITS = 1000;
const MOST_FILES = 1000;
const PAGE = 500;

/** What is archived, and by which server. */
export interface Written {
  readonly store: Store;
  readonly projectId: number;
  /** The version of GitLab that this server says it has. */
  readonly gitlab: string;
  readonly revision: string;
  readonly now: number;
}

/**
 * Writes an archive of a project as GitLab does, unpacked: a tar of lines of JSON, of bundles and files. What is written is
 * stored for a while, since a tar says how long a file is before the file.
 *
 * @param signal ends the work
 * @throws ArchiveError if some records are too large together
 */
export async function* archiveOf(
  written: Written,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield* tarOfFiles([], new Writing(written, signal).files(), Math.floor(written.now / 1000));
}

/** Writes one archive. */
class Writing {
  readonly #written: Written;
  readonly #signal: AbortSignal;
  readonly #place: { readonly kind: "project"; readonly id: number };
  /** Whom the archive names. */
  readonly #people = new Set<number>();

  constructor(written: Written, signal: AbortSignal) {
    this.#written = written;
    this.#signal = signal;
    this.#place = { kind: "project", id: written.projectId };
  }

  async *files(): AsyncGenerator<ClonedFile> {
    const { store, projectId, gitlab, revision } = this.#written;
    yield fileOf("VERSION", `${VERSION}\n`);
    yield fileOf("GITLAB_VERSION", `${gitlab}\n`);
    yield fileOf("GITLAB_REVISION", `${revision}\n`);
    const settings = await settingsIn(store, projectId);
    yield fileOf("tree/project.json", lineOf(projectOf(settings)));
    yield fileOf("tree/project/project_feature.ndjson", lineOf(featuresOf(settings)));
    yield fileOf(
      "tree/project/ci_cd_settings.ndjson",
      lineOf({ group_runners_enabled: true, default_git_depth: settings["ci_default_git_depth"] }),
    );
    for (const [name, said] of this.#relations()) {
      yield* this.#stored(`tree/project/${name}.ndjson`, linesOf(said));
    }
    yield* this.#stored("tree/project/user_contributions.ndjson", linesOf(this.#contributors()));
    yield* this.#bundle("project.bundle", "code");
    yield* this.#bundle("project.wiki.bundle", "wiki");
    yield* this.#attached();
  }

  #relations(): [name: string, said: AsyncGenerator<records.Said>][] {
    const one = (of: (row: records.Row) => records.Said) => (rows: records.Row[]) => rows.map(of);
    const own = (table: string, of: (rows: records.Row[]) => records.Said[]) =>
      this.#said([table], (rows) => of(ownIn(rows, table, this.#place.id)));
    return [
      ["labels", own("labels", one(records.labelOf))],
      ["milestones", own("milestones", one(records.milestoneOf))],
      ["project_badges", own("badges", one(records.badgeOf))],
      ["project_members", this.#members()],
      ["protected_branches", this.#protections("protected_branches", "branch_id")],
      ["protected_tags", this.#protections("protected_tags", "tag_id")],
      ["approval_rules", this.#approvalRules()],
      ["issues", this.#said(ISSUES, (rows, known) => records.issuesIn(rows, known))],
      ["merge_requests", this.#requests()],
      [
        "boards",
        this.#said(["boards", "board_lists"], (rows, known) => {
          const lists = records.partsBy(rows, "board_lists", "board_id");
          return (rows.get("boards") ?? []).map((row) =>
            records.boardOf(row, lists(row["id"] as Value), known),
          );
        }),
      ],
      [
        "releases",
        this.#said(["releases", "release_links", "release_milestones"], (rows, known) => {
          const links = records.partsBy(rows, "release_links", "release_id");
          const milestones = records.partsBy(rows, "release_milestones", "release_id");
          return (rows.get("releases") ?? []).map((row) => {
            const id = row["id"] as Value;
            return records.releaseOf(row, links(id), milestones(id), known);
          });
        }),
      ],
      [
        "snippets",
        this.#said(["snippets", "snippet_files", "notes", "award_emoji"], records.snippetsIn),
      ],
      [
        "commit_notes",
        this.#said(
          ["noted_commits", "notes", "note_positions", "award_emoji"],
          records.commitNotesIn,
        ),
      ],
    ];
  }

  /** The records of a table, some at a time. */
  async *#said(
    tables: readonly [string, ...string[]],
    say: (
      rows: records.Rows,
      known: records.Known,
    ) => Iterable<records.Said> | AsyncIterable<records.Said>,
  ): AsyncGenerator<records.Said> {
    for await (const { lines } of partsOf(this.#written.store, this.#place, tables, SOME)) {
      const rows = await this.#rowsIn(lines);
      yield* say(rows, await this.#known(rows));
    }
  }

  /** The rows of lines, by table. Notes who is named. */
  async #rowsIn(lines: AsyncIterable<Line>): Promise<Map<string, records.Row[]>> {
    const found = new Map<string, records.Row[]>();
    let rows: records.Row[] = [];
    let columns: readonly string[] = [];
    let length = 0;
    for await (const line of lines) {
      this.#signal.throwIfAborted();
      if (Array.isArray(line)) {
        for (const value of line) length += typeof value === "string" ? value.length : 8;
        if (length > MOST) throw new ArchiveError("some records are too large for this format");
        rows.push(Object.fromEntries(columns.map((name, at) => [name, line[at] as Value])));
      } else if ("table" in line) {
        columns = line.columns;
        rows = found.get(line.table) ?? [];
        found.set(line.table, rows);
      } else if ("person" in line) this.#people.add(line.person[0]);
    }
    return found;
  }

  /** What rows name. */
  async #known(rows: records.Rows): Promise<records.Known> {
    const { store } = this.#written;
    const idsIn = (column: string) =>
      new Set([...rows.values()].flat().flatMap((row) => row[column] ?? []));
    const labels = await foundIn(store, LABELS, idsIn("label_id"));
    const milestones = await foundIn(store, MILESTONES, idsIn("milestone_id"));
    const authors = new Set((rows.get("notes") ?? []).flatMap((row) => row["author_id"] ?? []));
    const names = await foundIn(store, PEOPLE, authors);
    const said = (
      found: ReadonlyMap<Value, records.Row>,
      of: (row: records.Row) => records.Said,
    ) => {
      return (id: Value | undefined) => {
        const row = id == null ? undefined : found.get(id);
        return row ? of(row) : null;
      };
    };
    return {
      label: said(labels, records.labelOf),
      milestone: said(milestones, records.milestoneOf),
      name: (id) => String(names.get(id as Value)?.["name"] ?? ""),
    };
  }

  /** Members, and those of the groups above that are none: they are members of the project where there are no such groups. */
  async *#members(): AsyncGenerator<records.Said> {
    const { store, projectId } = this.#written;
    const rows = await store.all<records.Row>(
      `select m.id, m.user_id, m.access_level, m.expires_at, m.created_by_id, m.created_at, m.updated_at
       from members m join projects p on p.id = ?
       where (m.project_id = p.id or m.namespace_id in
           (select ancestor_id from namespace_ancestors where namespace_id = p.namespace_id))
         and not exists (select 1 from resource_bots b where b.user_id = m.user_id)
       order by case when m.project_id is null then 1 else 0 end, m.access_level desc, m.id`,
      [projectId],
    );
    const seen = new Set<Value>();
    for (const some of pagesOf(rows)) {
      const people = await foundIn(
        store,
        PEOPLE,
        new Set(some.map((row) => row["user_id"] as Value)),
      );
      for (const row of some) {
        const person = people.get(row["user_id"] as Value);
        if (!person || seen.has(person["id"] as Value)) continue;
        seen.add(person["id"] as Value);
        const { id, username, public_email } = person;
        yield records.memberOf(row, { id, username, public_email });
      }
    }
  }

  #protections(
    table: "protected_branches" | "protected_tags",
    column: string,
  ): AsyncGenerator<records.Said> {
    return this.#said([table, "protection_grants"], (rows) => {
      const grants = records.partsBy(rows, "protection_grants", column);
      return (rows.get(table) ?? []).map((row) =>
        records.protectionOf(row, grants(row["id"] as Value)),
      );
    });
  }

  async *#approvalRules(): AsyncGenerator<records.Said> {
    const { store } = this.#written;
    const tables = ["approval_rules", "approval_rule_users", "approval_rule_branches"] as const;
    for await (const { lines } of partsOf(store, this.#place, tables, PAGE)) {
      const rows = await this.#rowsIn(lines);
      const of = (table: string) => records.partsBy(rows, table, "rule_id");
      const [users, branches] = [of(tables[1]), of(tables[2])];
      const ids = (rows.get(tables[2]) ?? []).map((row) => row["branch_id"] as Value);
      const named = await foundIn(
        store,
        "select id, name from protected_branches where id",
        new Set(ids),
      );
      for (const row of rows.get(tables[0]) ?? []) {
        // Those of single merge requests are theirs.
        if (row["merge_request_id"] != null) continue;
        const id = row["id"] as Value;
        const nameOf = (branch: Value) => named.get(branch)?.["name"];
        yield records.approvalRuleOf(row, users(id), branches(id), nameOf);
      }
    }
  }

  async *#requests(): AsyncGenerator<records.Said> {
    const { store, projectId } = this.#written;
    const { row } = await findRecord(store.reader(), projectId);
    const repository = await openRecord(store, row);
    yield* this.#said(
      REQUESTS,
      async function* (this: Writing, rows: records.Rows, known: records.Known) {
        const ids = (rows.get("merge_requests") ?? []).map((request) => request["id"] as Value);
        const sources = await foundIn(
          store,
          "select id, source_project_id from merge_requests where id",
          new Set(ids),
        );
        yield* records.requestsIn(rows, known, {
          projectId,
          sourceOf: (id) => sources.get(id)?.["source_project_id"],
          diffOf: (version) => this.#diffOf(repository, version),
        });
      }.bind(this),
    );
  }

  /** What a version of a merge request changes. */
  async #diffOf(repository: Repository, version: records.Row): Promise<records.Said> {
    const budget = new Budget(this.#signal);
    const facts = {
      head_sha: String(version["head_sha"]),
      base_sha: version["base_sha"] as string | null,
      start_sha: String(version["start_sha"]),
      changed_files: Number(version["changed_files"]),
    };
    const at = { created_at: records.instantOf(version["created_at"]) };
    const isThere = commitNumber(repository, facts.head_sha) !== undefined;
    const numbers = isThere
      ? await logOf(repository, logQueryOf(repository, facts)).first(
          repository,
          MOST_COMMITS,
          budget,
        )
      : [];
    const commits: records.Said[] = [];
    for (const number of numbers.slice(0, MOST_COMMITS)) {
      commits.push(await commitOf(repository, number, commits.length));
    }
    const changes = isThere ? await changesOf(repository, facts, budget) : [];
    const rows = await readAllDiffs(repository, changes.slice(0, MOST_FILES), false, budget);
    return {
      state: facts.changed_files === 0 ? "empty" : "collected",
      base_commit_sha: facts.base_sha,
      head_commit_sha: facts.head_sha,
      start_commit_sha: facts.start_sha,
      ...{ files_count: facts.changed_files, real_size: String(facts.changed_files) },
      ...{ commits_count: commits.length, sorted: true, diff_type: "regular" },
      ...{ ...at, updated_at: at.created_at },
      merge_request_diff_commits: commits,
      merge_request_diff_files: rows.map(fileChangeOf),
    };
  }

  /** Who has done something: members or not. */
  async *#contributors(): AsyncGenerator<records.Said> {
    for (const some of pagesOf([...this.#people])) {
      const found = await foundIn(this.#written.store, PEOPLE, new Set(some));
      for (const { id, username, name, public_email } of found.values()) {
        yield { id, username, name, public_email };
      }
    }
  }

  async *#bundle(path: string, kind: "code" | "wiki"): AsyncGenerator<ClonedFile> {
    const { store, projectId } = this.#written;
    const packed = await packOf(store, projectId, kind);
    if (!packed) return;
    const { defaultBranch } = await findRecord(store.reader(), projectId);
    const head = BRANCHES + (kind === "code" ? defaultBranch : (packed.head ?? "master"));
    const oid = packed.refs.find(([name]) => name === head)?.[1];
    const refs = [...packed.refs, ...(oid === undefined ? [] : [["HEAD", oid] as const])];
    const beginning = `# v2 git bundle\n${refs.map(([name, of]) => `${of} ${name}\n`).join("")}\n`;
    yield* this.#stored(
      path,
      (async function* () {
        yield Buffer.from(beginning);
        yield* packed.pack;
      })(),
    );
  }

  /** Uploads, objects of Git LFS, and the picture. */
  async *#attached(): AsyncGenerator<ClonedFile> {
    const { store, projectId } = this.#written;
    for (const file of await uploadsIn(store, projectId)) {
      const path = `uploads/${file.secret}/${file.file_name}`;
      yield { path, size: file.size, bytes: readFile(store, file) };
    }
    const types: Record<string, readonly number[]> = {};
    for await (const file of largeFilesIn(store, projectId)) {
      // 0: it is of the code, not of the wiki or of designs.
      types[file.sha256] = [0];
      yield { path: `lfs-objects/${file.sha256}`, size: file.size, bytes: readFile(store, file) };
    }
    if (Object.keys(types).length > 0) yield fileOf("lfs-objects.json", JSON.stringify(types));
    const avatar = await avatars.find(store, this.#place);
    if (!avatar) return;
    const path = `avatar/${avatar.file_name}`;
    yield { path, size: avatar.size, bytes: readFile(store, avatar) };
  }

  /** A file that is stored until it was read; none if it is empty. */
  async *#stored(path: string, parts: AsyncIterable<Uint8Array>): AsyncGenerator<ClonedFile> {
    const { store, now } = this.#written;
    const file = await storeFile(store, parts, now);
    try {
      if (file.size > 0) yield { path, size: file.size, bytes: readFile(store, file) };
    } finally {
      await deleteFile(store, file.id);
    }
  }
}

const ABOUT = [
  ...["notes", "note_positions", "award_emoji", "timelogs", "resource_label_events"],
  ...["resource_milestone_events", "resource_state_events"],
] as const;
const ISSUES = [
  "issues",
  ...["issue_assignees", "issue_labels", "resource_weight_events", ...ABOUT],
] as const;
const REQUESTS = [
  "merge_requests",
  ...["merge_request_assignees", "merge_request_reviewers", "merge_request_labels", "approvals"],
  ...["merge_request_versions", ...ABOUT, "suggestions"],
] as const;

const LABELS = `select id, name, color, description, project_id, namespace_id, priority, archived, created_at, updated_at
  from labels where id`;
const MILESTONES = `select id, iid, title, description, state, due_date, start_date, project_id, namespace_id, created_at,
  updated_at from milestones where id`;
const PEOPLE = "select id, username, name, public_email from users where id";

/** Rows by their ids. @param sql up to the comparison with these */
async function foundIn(
  db: Reader,
  sql: string,
  ids: ReadonlySet<Value>,
): Promise<Map<Value, records.Row>> {
  const found = new Map<Value, records.Row>();
  for (const some of pagesOf([...ids])) {
    const among = placeholders(some);
    for (const row of await db.all<records.Row>(`${sql} in (${among.sql})`, among.values)) {
      found.set(row["id"] as Value, row);
    }
  }
  return found;
}

function* pagesOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += PAGE) yield all.slice(at, at + PAGE);
}

/** The rows that are the project's own, not of a group above it. */
const ownIn = (rows: records.Rows, table: string, project_id: number): records.Row[] =>
  (rows.get(table) ?? [])
    .filter((row) => row[INHERITED] !== 1)
    .map((row) => ({ ...row, project_id }));

const lineOf = (said: records.Said) => `${JSON.stringify(said)}\n`;

async function* linesOf(said: AsyncIterable<records.Said>): AsyncGenerator<Uint8Array> {
  for await (const one of said) yield Buffer.from(lineOf(one));
}

function fileOf(path: string, text: string): ClonedFile {
  const bytes = Buffer.from(text);
  return {
    path,
    size: bytes.length,
    bytes: (async function* () {
      yield bytes;
    })(),
  };
}

/** Settings that are flags with the same name there. */
const FLAGS = [
  ...["archived", "shared_runners_enabled", "request_access_enabled"],
  ...["only_allow_merge_if_pipeline_succeeds", "allow_merge_on_skipped_pipeline"],
  ...["only_allow_merge_if_all_discussions_are_resolved", "autoclose_referenced_issues"],
  ...["resolve_outdated_diff_discussions", "remove_source_branch_after_merge"],
  ...["reset_approvals_on_push", "disable_overriding_approvers_per_merge_request"],
  ...["merge_requests_author_approval", "merge_requests_disable_committers_approval"],
  ...["require_password_to_approve"],
];

/** The settings of a project. GitLab passes over those that it does not export itself, such as the default branch. */
function projectOf(settings: Readonly<Record<string, Value>>): records.Said {
  const { description, visibility, build_timeout, squash_option, topics } = settings;
  const { merge_commit_template, squash_commit_template, merge_method } = settings;
  return {
    description,
    visibility_level: visibility,
    default_branch: settings["default_branch"],
    topics: JSON.parse(String(topics)) as unknown,
    ...{ build_timeout, squash_option, merge_commit_template, squash_commit_template },
    merge_requests_ff_only_enabled: merge_method === "ff",
    merge_requests_rebase_enabled: merge_method !== "merge",
    public_builds: settings["public_jobs"] === 1,
    ...Object.fromEntries(FLAGS.map((name) => [name, settings[name] === 1])),
  };
}

/** Who uses the features, in GitLab's numbers. */
const LEVELS: Readonly<Record<number, number>> = { 0: 0, 1: 20, 2: 10 };

const featuresOf = (settings: Readonly<Record<string, Value>>): records.Said =>
  Object.fromEntries(
    Object.entries(ACCESS_LEVELS).map(([name, column]) => [name, LEVELS[Number(settings[column])]]),
  );

/** A commit of a merge request. */
async function commitOf(
  repository: Repository,
  number: number,
  place: number,
): Promise<records.Said> {
  const { id, author, committer, message } = await readCommit(repository, number);
  const people = {
    ...{ author_name: author.name, author_email: author.email },
    ...{ committer_name: committer.name, committer_email: committer.email },
  };
  return {
    ...{ relative_order: place, sha: id, message, ...people },
    authored_date: timeOf(author),
    committed_date: timeOf(committer),
    trailers: Object.fromEntries(trailersOf(message)),
    commit_author: { name: author.name, email: author.email },
    committer: { name: committer.name, email: committer.email },
  };
}

/** A file that a merge request changes. */
function fileChangeOf(row: readonly Value[], place: number): records.Said {
  const value = (name: Parameters<typeof diff.at>[0]) => row[diff.at(name)];
  const text = String(value("diff") ?? "");
  return {
    relative_order: place,
    ...{ old_path: value("old_path"), new_path: value("new_path") },
    ...{ a_mode: value("a_mode"), b_mode: value("b_mode") },
    new_file: value("new_file") === 1,
    renamed_file: value("renamed_file") === 1,
    deleted_file: value("deleted_file") === 1,
    too_large: value("collapsed") === 1 || value("too_large") === 1,
    binary: text.startsWith("Binary files "),
    utf8_diff: text,
  };
}
