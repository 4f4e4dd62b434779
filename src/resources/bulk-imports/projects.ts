import * as v from "valibot";
import { isCron, isTimeZone } from "../../ci/index.ts";
import { VISIBILITIES, type Visibility } from "../../core/access/visibility.ts";
import { attachmentName } from "../../core/http/attachments.ts";
import { storeFile } from "../../files/write.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { Database } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { TIERS } from "../ci/environment-names.ts";
import { insertEnvironment, setState } from "../ci/environments.ts";
import { SETTINGS } from "../exports/archived.ts";
import { countIssues, finish } from "../exports/finish.ts";
import { ArchiveError } from "../exports/format.ts";
import { settingsOf } from "../exports/reader.ts";
import { newPositionOf, placeLabels } from "../issuables/positions.ts";
import type * as namespaces from "../namespaces/queries.ts";
import { createProject } from "../projects/changes.ts";
import { featureColumns } from "../projects/feature-levels.ts";
import { projectSettings } from "../projects/kept.ts";
import * as schedules from "../schedules/queries.ts";
import * as uploads from "../uploads/queries.ts";
import { bringCodeOf, bringWikiOf, commitsOf } from "./code.ts";
import {
  bringAvatar,
  bringBadges,
  bringBoards,
  bringHooks,
  bringLabels,
  bringMembers,
  bringVariables,
  keptOf,
} from "./common.ts";
import { placeBelow } from "./epic-places.ts";
import { hasIterations, placeInIterations } from "./iterations.ts";
import { bringLargeFiles } from "./lfs.ts";
import { bringPackages } from "./packages.ts";
import * as imports from "./queries.ts";
import { type SourceRecord, write } from "./records.ts";
import {
  approvalRuleRows,
  type Details,
  idIn,
  instantIn,
  issueRows,
  listIn,
  milestoneRow,
  numberIn,
  protectionRows,
  type RequestDetails,
  type Row,
  releaseRows,
  requestRows,
  snippetRows,
  textIn,
  toldIn,
} from "./rows.ts";
import type { Bringing } from "./running.ts";
import type { Query, Told } from "./source.ts";

/**
 * Creates the project that one of another server becomes, private until all of it is there.
 *
 * @returns its id
 * @throws ApiError if its place is taken or not allowed
 */
export async function makeProject(
  db: Database,
  { importer, now }: { readonly importer: { readonly id: number }; readonly now: () => number },
  { destination_slug: path }: imports.NewEntity,
  namespace: namespaces.Namespace,
  told: Told,
): Promise<number> {
  const name = textIn(told["name"])?.slice(0, 255) ?? path;
  const project = { namespace, creator_id: importer.id, name, path };
  const id = await createProject(db, { ...project, visibility: VISIBILITIES.private }, now());
  await updateRow(
    db,
    "projects",
    id,
    { created_at: instantIn(told["created_at"]) ?? now() },
    now(),
  );
  return id;
}

/** Brings what a project has. */
export async function bringProject(bringing: Bringing, told: Told): Promise<void> {
  const { path } = bringing;
  await bringing.part("repository", async () => {
    if (told["empty_repo"] !== true) await bringProjectCode(bringing, told);
  });
  await bringLargeFiles(bringing);
  await bringing.part("wiki", () => wiki(bringing, told));
  await bringAvatar(bringing, told);
  await bringLabels(bringing, { include_ancestor_groups: true });
  await milestones(bringing);
  await bringBadges(bringing);
  await protections(bringing);
  await bringing.list(
    "issues",
    `${path}/issues`,
    { scope: "all", order_by: "created_at", sort: "asc" },
    (issue) => issueOf(bringing, issue),
  );
  await approvalRules(bringing);
  await requests(bringing);
  await countAll(bringing);
  await bringBoards(bringing);
  const oldest = { order_by: "created_at", sort: "asc" };
  await bringReleases(bringing, `${path}/releases`, oldest, async (told) => told);
  await bringing.list("snippets", `${path}/snippets`, {}, (told) => snippetOf(bringing, told), {
    newestFirst: true,
  });
  await bringVariables(bringing);
  await environments(bringing);
  await bringPackages(bringing, told);
  await pipelineSchedules(bringing);
  await bringHooks(bringing);
  await bringMembers(bringing);
  await files(bringing);
  await bringing.part("settings", () => settings(bringing, told));
}

/** Notes which numbers the next issue and merge request get. */
export const countAll = (bringing: Bringing): Promise<void> =>
  bringing.part("counts", () =>
    write(inPlace(bringing), (db) => countIssues(db, bringing.place.id)),
  );

/** Brings releases. @param releaseOf one as GitLab shows it; `undefined` for one that is not brought */
export const bringReleases = (
  bringing: Bringing,
  path: string,
  query: Query,
  releaseOf: (told: Told) => Promise<Told | undefined>,
): Promise<void> =>
  bringing.list(
    "releases",
    path,
    query,
    async (told) => {
      const release = await releaseOf(told);
      if (!release) return undefined;
      const milestones = listIn(release["milestones"]).map(({ id }) => id);
      const named = await bringing.named(bringing.running.store, [], milestones);
      const rows = releaseRows(release, named);
      return bringing.record("releases", keyOfRelease(release), rows, [release], {
        here: named.here,
      });
    },
    { keyOf: keyOfRelease },
  );

const keyOfRelease = ({ tag_name }: Told) => String(tag_name);
const inPlace = ({ running, place }: Bringing) => ({ store: running.store, place });

const BRANCH = v.pipe(v.string(), v.minLength(1), v.maxLength(255));

/** Brings the code of a project, and notes its default branch. @param told has its name */
export async function bringProjectCode(bringing: Bringing, told: Told): Promise<void> {
  const left = await bringCodeOf(bringing);
  for (const ref of left) await bringing.fail("repository", new Error(ref), ref);
  const branch = textIn(told["default_branch"]);
  if (branch === null || !v.is(BRANCH, branch)) return;
  await write(inPlace(bringing), (db) =>
    updateRow(
      db,
      "projects",
      bringing.place.id,
      { default_branch: branch },
      bringing.running.now(),
    ),
  );
}

async function wiki(bringing: Bringing, told: Told): Promise<void> {
  if (told["wiki_enabled"] === false) return;
  await bringWikiOf(bringing, bringing.place.id);
}

/** Brings milestones, and which ones those of groups above are here. */
async function milestones(bringing: Bringing): Promise<void> {
  const { path, place } = bringing;
  await bringing.list(
    "milestones",
    `${path}/milestones`,
    { include_ancestors: true },
    async (told) => {
      const key = String(told["id"]);
      const isInherited = told["group_id"] != null;
      const row = milestoneRow(told);
      const { iid: _, ...values } = row.values;
      // Of a group that was not brought: it becomes the project's own, unless a group here has one of that title.
      const own = isInherited ? { ...row, values: { ...values, iid: null } } : row;
      return bringing.record("milestones", key, [own], [], {
        instead: async (db) =>
          isInherited ? inherited(db, place.id, key, textIn(told["title"]) ?? "") : undefined,
      });
    },
    { newestFirst: true },
  );
}

async function inherited(
  db: Database,
  projectId: number,
  key: string,
  title: string,
): Promise<number | undefined> {
  const above = `select a.ancestor_id from namespace_ancestors a join projects p on p.namespace_id = a.namespace_id
    where p.id = ?`;
  const [known] = await db.rows(
    `select m.id from bulk_import_records r join milestones m on m.id = r.local_id
     where r.namespace_id in (${above}) and r.kind = 'milestones' and r.source_key = ? and m.removed = 0
     union all
     select m.id from milestones m where m.namespace_id in (${above}) and m.title = ? and m.removed = 0`,
    [projectId, key, projectId, title],
  );
  return known?.[0] as number | undefined;
}

async function protections(bringing: Bringing): Promise<void> {
  for (const table of ["protected_branches", "protected_tags"] as const) {
    await bringing.list(
      table,
      `${bringing.path}/${table}`,
      {},
      async (told) => {
        if (told["inherited"] === true) return undefined;
        const rows = protectionRows(told, table, bringing.running.now());
        const users = await usersOf(bringing, rows);
        return bringing.record(table, String(told["name"]), rows, users);
      },
      { keyOf: ({ name }) => String(name) },
    );
  }
}

/** Rules with groups keep only their users. */
const approvalRules = (bringing: Bringing) =>
  bringing.list("approval_rules", `${bringing.path}/approval_rules`, {}, async (told) => {
    const { running, place } = bringing;
    const names = listIn(told["protected_branches"]).map(({ name }) => String(name));
    const branches = await imports.recordsOf(
      running.store.reader(),
      place,
      "protected_branches",
      names,
    );
    const rows = approvalRuleRows(told, branches, running.now());
    const ids = [...branches.values()].filter((id) => id !== null);
    const here = { protected_branches: ids };
    return bringing.record("approval_rules", String(told["id"]), rows, [told], { here });
  });

/** The users whom rights are given to: rights have only their ids. */
function usersOf(bringing: Bringing, rows: readonly Row[]): Promise<Told[]> {
  const ids = rows.map(({ values }) => numberIn(values["user_id"])).filter((id) => id !== null);
  const unique = [...new Set(ids)];
  return Promise.all(
    unique.map((id) => bringing.aboutOne("users of protected refs", `users/${id}`)),
  );
}

/** What is asked about an issue, a merge request or a snippet besides itself. */
async function discussed(
  bringing: Bringing,
  kind: "issues" | "merge_requests" | "snippets",
  number: unknown,
): Promise<Pick<Details, "discussions" | "emoji" | "noteEmoji">> {
  const at = `${bringing.path}/${kind}/${number}`;
  const [discussions, emoji] = await Promise.all([
    bringing.about(`discussions of ${kind}`, `${at}/discussions`),
    bringing.about(`emoji of ${kind}`, `${at}/award_emoji`),
  ]);
  return { discussions, emoji, noteEmoji: await emojiOfNotes(bringing, at, discussions) };
}

/** Emoji of the notes of discussions, by the ids of notes. @param at the path of what is discussed */
export async function emojiOfNotes(
  bringing: Bringing,
  at: string,
  discussions: readonly Told[],
): Promise<Details["noteEmoji"]> {
  const noteEmoji = new Map<number, readonly Told[]>();
  for (const note of discussions.flatMap((one) => listIn(one["notes"]))) {
    const id = numberIn(note["id"]);
    if (id === null || note["system"] === true) continue;
    const given = await bringing.about("emoji of notes", `${at}/notes/${id}/award_emoji`);
    if (given.length > 0) noteEmoji.set(id, given);
  }
  return noteEmoji;
}

async function detailsOf(
  bringing: Bringing,
  kind: "issues" | "merge_requests",
  told: Told,
): Promise<Details> {
  const at = `${bringing.path}/${kind}/${told["iid"]}`;
  const events = (name: string) =>
    bringing.about(`${name} events of ${kind}`, `${at}/resource_${name}_events`);
  const [about, labelEvents, milestoneEvents, stateEvents, weightEvents] = await Promise.all([
    discussed(bringing, kind, told["iid"]),
    events("label"),
    events("milestone"),
    events("state"),
    kind === "issues" ? events("weight") : [],
  ]);
  return { ...about, labelEvents, milestoneEvents, stateEvents, weightEvents };
}

/** What labels and milestones a record names are here. */
export function namedIn(bringing: Bringing, told: Told, details: Details) {
  const labels = Array.isArray(told["labels"]) ? (told["labels"] as unknown[]) : [];
  const ofEvents = details.labelEvents.map((event) => toldIn(event["label"])["name"]);
  const milestones = details.milestoneEvents.map((event) => idIn(event["milestone"]));
  return bringing.named(
    bringing.running.store,
    [...labels, ...ofEvents],
    [idIn(told["milestone"]), ...milestones],
  );
}

async function issueOf(bringing: Bringing, told: Told): Promise<SourceRecord> {
  const details = await detailsOf(bringing, "issues", told);
  const links = await bringing.about(
    "links of issues",
    `${bringing.path}/issues/${told["iid"]}/links`,
  );
  const { running, place } = bringing;
  if (!(await hasIterations(running.store.reader(), place))) {
    return issueRecord(bringing, told, details, links);
  }
  const at = `${bringing.path}/issues/${told["iid"]}/resource_iteration_events`;
  const events = await bringing.about("iteration events of issues", at);
  const people = await running.people.in(events);
  return issueRecord(bringing, told, details, links, (db, id) =>
    placeInIterations(db, place, id, { told, events, people }),
  );
}

/**
 * An issue with all that is about it.
 *
 * @param links those that it has with others
 * @param after what else is written with it
 */
export async function issueRecord(
  bringing: Bringing,
  told: Told,
  details: Details,
  links: readonly Told[],
  after?: SourceRecord["after"],
): Promise<SourceRecord> {
  const named = await namedIn(bringing, told, details);
  const rows = issueRows(told, details, named);
  return bringing.record("issues", String(told["id"]), rows, [told, details], {
    here: named.here,
    after: async (db, id) => {
      await db.run("update issues set relative_position = ? where id = ?", [newPositionOf(id), id]);
      placeLabels(db, [id]);
      for (const link of links) await linkTo(db, bringing, { id, told, link });
      await placeBelow(db, bringing.place, { id, parent: idIn(told["epic"]) });
      await after?.(db, id);
    },
  });
}

/** Links an issue with another one that was brought before. */
async function linkTo(
  db: Database,
  { running, place }: Bringing,
  { id, told, link }: { readonly id: number; readonly told: Told; readonly link: Told },
): Promise<void> {
  const there = numberIn(link["project_id"]);
  const isOwn = there === numberIn(told["project_id"]);
  const projectId =
    isOwn || there === null ? place.id : await imports.projectOf(db, running.record, there);
  if (projectId === undefined) return;
  const [other] = await db.rows("select id from issues where project_id = ? and iid = ?", [
    projectId,
    numberIn(link["iid"]),
  ]);
  const type = link["link_type"];
  if (!other || (type !== "relates_to" && type !== "blocks" && type !== "is_blocked_by")) return;
  const isFrom = type === "blocks";
  const ends = isFrom ? [id, other[0] as number] : [other[0] as number, id];
  const at = instantIn(link["link_created_at"]) ?? running.now();
  await db.run(
    `insert into issue_links (source_id, target_id, link_type, created_at, updated_at) values (?, ?, ?, ?, ?)
     on conflict do nothing`,
    [
      ...ends,
      type === "relates_to" ? type : "blocks",
      at,
      instantIn(link["link_updated_at"]) ?? at,
    ],
  );
}

async function requests(bringing: Bringing): Promise<void> {
  const { running, place, path } = bringing;
  const { has } = await commitsOf(running.store, place.id);
  const list = `${path}/merge_requests`;
  await bringing.list(
    "merge_requests",
    list,
    { scope: "all", order_by: "created_at", sort: "asc" },
    async (told) => {
      const at = `${list}/${told["iid"]}`;
      const [details, versions, approvals, reviewers, closes] = await Promise.all([
        detailsOf(bringing, "merge_requests", told),
        bringing.about("versions of merge requests", `${at}/versions`),
        bringing.aboutOne("approvals of merge requests", `${at}/approvals`),
        bringing.about("reviewers of merge requests", `${at}/reviewers`),
        bringing.about("issues that merge requests close", `${at}/closes_issues`),
      ]);
      const all = { ...details, versions, approvals, reviewers };
      return requestRecord(bringing, told, all, has, async (db, id) => {
        for (const issue of closes) {
          if (issue["project_id"] !== told["project_id"]) continue;
          await db.run(
            `insert into merge_request_issues (merge_request_id, issue_id, closes)
             select ?, id, 1 from issues where project_id = ? and iid = ? on conflict do nothing`,
            [id, place.id, numberIn(issue["iid"])],
          );
        }
      });
    },
  );
}

/**
 * A merge request with all that is about it.
 *
 * @param has whether a commit is in the repository
 * @param after what else is written with it
 */
export async function requestRecord(
  bringing: Bringing,
  told: Told,
  details: RequestDetails,
  has: (sha: string) => boolean,
  after?: SourceRecord["after"],
): Promise<SourceRecord> {
  const named = await namedIn(bringing, told, details);
  const rows = requestRows(told, details, named, has);
  return bringing.record("merge_requests", String(told["id"]), rows, [told, details], {
    here: named.here,
    ...(after && { after }),
  });
}

/** Files that a snippet has at most. */
const MOST_FILES = 10;
const MOST_CONTENT = 1_048_576;

async function snippetOf(bringing: Bringing, told: Told) {
  const { source } = bringing.running;
  const at = `${bringing.path}/snippets/${told["id"]}`;
  const contents = new Map<string, string>();
  const files = listIn(told["files"]).slice(0, MOST_FILES);
  const paths = files.length > 0 ? files.map(({ path }) => textIn(path) ?? "") : [null];
  for (const [index, path] of paths.entries()) {
    // Of several files, each has an address of its own, which has the branch.
    const branch = /\/raw\/([^/]+)\//.exec(textIn(files[index]?.["raw_url"]) ?? "")?.[1] ?? "main";
    const raw =
      path === null || paths.length === 1
        ? `${at}/raw`
        : `${at}/files/${branch}/${encodeURIComponent(path)}/raw`;
    const parts: Uint8Array[] = [];
    for await (const part of source.bytes(raw, MOST_CONTENT)) parts.push(part);
    contents.set(
      path ?? textIn(told["file_name"]) ?? "snippet.txt",
      Buffer.concat(parts).toString("utf8"),
    );
  }
  const details = await discussed(bringing, "snippets", told["id"]);
  const visibility = VISIBILITIES[told["visibility"] as Visibility] ?? VISIBILITIES.private;
  const rows = snippetRows(told, contents, details, visibility);
  return bringing.record("snippets", String(told["id"]), rows, [told, details]);
}

const ENVIRONMENT = v.object({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(255)),
  external_url: v.optional(
    v.nullable(v.pipe(v.string(), v.maxLength(255), v.regex(/^https?:\/\//))),
  ),
  description: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(10_000)))),
  tier: v.optional(v.nullable(v.picklist(TIERS))),
});

const environments = (bringing: Bringing) =>
  bringing.list("environments", `${bringing.path}/environments`, {}, async (told) => {
    const parsed = v.safeParse(ENVIRONMENT, told);
    if (!parsed.success) throw new ArchiveError("it is no environment that there can be here");
    const { name, external_url, description, tier } = parsed.output;
    const { place, running } = bringing;
    const at = instantIn(told["created_at"]) ?? running.now();
    const given = {
      name,
      external_url: external_url ?? undefined,
      description: description ?? undefined,
      tier: tier ?? undefined,
    };
    return {
      kind: "environments",
      key: String(told["id"]),
      title: name,
      rows: [],
      instead: async (db) => {
        const id = await insertEnvironment(db, place.id, given, at);
        if (told["state"] === "stopped") await setState(db, id, "stopped", at);
        return id;
      },
    };
  });

const SCHEDULE_VARIABLE = v.object({
  key: v.pipe(v.string(), v.regex(/^\w{1,255}$/)),
  value: v.pipe(v.string(), v.maxLength(10_000)),
  variable_type: v.optional(v.picklist(["env_var", "file"]), "env_var"),
});

/** Schedules come switched off: their pipelines run in the name of somebody here, who must want that. */
const pipelineSchedules = (bringing: Bringing) =>
  bringing.list("pipeline_schedules", `${bringing.path}/pipeline_schedules`, {}, async (told) => {
    const { path, running } = bringing;
    const projectId = bringing.place.id;
    const [description, cron, ref] = [told["description"], told["cron"], told["ref"]].map((text) =>
      (textIn(text) ?? "").slice(0, 1000),
    ) as [string, string, string];
    const zone = textIn(told["cron_timezone"]) ?? "UTC";
    if (!isCron(cron) || !isTimeZone(zone)) throw new ArchiveError("it is no schedule");
    const at = instantIn(told["created_at"]) ?? running.now();
    const people = await running.people.in(told["owner"]);
    const owner = people.get(idIn(told["owner"]) ?? 0) ?? running.importer.id;
    const whole = await running.source.get(`${path}/pipeline_schedules/${told["id"]}`);
    const given = listIn(whole["variables"]).flatMap((one) => {
      const parsed = v.safeParse(SCHEDULE_VARIABLE, one);
      return parsed.success ? [parsed.output] : [];
    });
    return {
      kind: "pipeline_schedules",
      key: String(told["id"]),
      title: description,
      rows: [],
      instead: async (db) => {
        const place = { project_id: projectId, owner_id: owner };
        const full = ref.startsWith("refs/") ? ref : BRANCHES + ref;
        const schedule = { ...place, description, cron, ref: full, cron_timezone: zone };
        const id = await schedules.insert(db, { ...schedule, active: false }, running.now(), at);
        for (const one of given) await schedules.setVariable(db, running.secrets, id, one);
        return id;
      },
    };
  });

/** The largest file that texts refer to, in bytes. */
const MOST_UPLOAD = 100 * 1024 * 1024;

/** Brings the files that descriptions and notes refer to. */
async function files(bringing: Bringing): Promise<void> {
  const { running, place, path } = bringing;
  const { store, source, now, importer } = running;
  await bringing.part("uploads", async () => {
    for await (const [secret, name] of referred(bringing)) {
      const key = `${secret}/${name}`;
      if ((await imports.recordsOf(store.reader(), place, "uploads", [key])).size > 0) continue;
      try {
        const bytes = source.bytes(
          `${path}/uploads/${secret}/${encodeURIComponent(name)}`,
          MOST_UPLOAD,
        );
        const file = await storeFile(store, bytes, now());
        const upload = { secret, file_name: attachmentName(name), uploader_id: importer.id };
        await write(inPlace(bringing), async (db) => {
          const isNew = await imports.note(db, place, "uploads", key, null);
          if (isNew) await uploads.insert(db, place.id, file, upload, now());
        });
      } catch (error) {
        running.signal.throwIfAborted();
        await bringing.fail("uploads", error as Error, name);
      }
    }
  });
}

const LINK = /\/uploads\/([0-9a-f]{32})\/([^\s)"'<>\]]{1,255})/g;
/** Rows whose texts are looked at at once. */
const SOME = 200;

/** The files that texts of a project refer to. */
async function* referred({
  running,
  place,
}: Bringing): AsyncGenerator<[secret: string, name: string]> {
  const texts = [
    ["issues", "description"],
    ["merge_requests", "description"],
    ["notes", "body"],
    ["releases", "description"],
    ["milestones", "description"],
    ["snippets", "description"],
  ] as const;
  for (const [table, column] of texts) {
    for (let last = 0; ; ) {
      const rows = await running.store.reader().rows(
        `select id, ${column} from ${table} where project_id = ? and id > ? and ${column} like '%/uploads/%'
         order by id limit ${SOME}`,
        [place.id, last],
      );
      for (const [, text] of rows) {
        for (const [, secret = "", name = ""] of String(text).matchAll(LINK)) {
          yield [secret, decoded(name)];
        }
      }
      if (rows.length < SOME) break;
      last = rows.at(-1)?.[0] as number;
    }
  }
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

async function settings(bringing: Bringing, told: Told): Promise<void> {
  const rules = await bringing.aboutOne("approval settings", `${bringing.path}/approvals`);
  await finishProject(bringing, { ...rules, ...told });
}

/**
 * Gives a project its settings, and the visibility that it has there if that is allowed here.
 *
 * @param told the project, as GitLab shows it
 */
export async function finishProject(bringing: Bringing, told: Told): Promise<void> {
  const { running, place } = bringing;
  const given: Record<string, unknown> = {};
  for (const [name, { schema }] of Object.entries(SETTINGS)) {
    const value = told[name];
    const stored = typeof value === "boolean" ? Number(value) : value;
    if (stored !== undefined && stored !== null && v.is(schema, stored)) given[name] = stored;
  }
  const topics = Array.isArray(told["topics"]) ? told["topics"] : [];
  const level = VISIBILITIES[told["visibility"] as Visibility] ?? VISIBILITIES.private;
  await finish(
    {
      store: running.store,
      place,
      speaksForAll: running.importer.speaksForAll,
      now: running.now(),
    },
    settingsOf({
      ...given,
      ...featureColumns(told),
      visibility: level,
      topics: JSON.stringify(topics.filter((topic) => typeof topic === "string")),
      kept_settings: keptOf(projectSettings as never, told),
    }),
  );
  const last_activity_at = instantIn(told["last_activity_at"]) ?? running.now();
  await write(inPlace(bringing), (db) =>
    updateRow(db, "projects", place.id, { last_activity_at }, running.now()),
  );
}
