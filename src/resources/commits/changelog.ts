import { ConfigurationError, isMapping } from "../../ci/values.ts";
import type { Source } from "../../core/access/source.ts";
import { ApiError } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, type PrepareContext, routes } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import { isRegular } from "../../git/changes.ts";
import { commitId, commitNumber, readCommit, titleOf } from "../../git/commits.ts";
import { logOf } from "../../git/log.ts";
import { BLOB } from "../../git/objects.ts";
import { BRANCHES, listRefsBelow, TAGS } from "../../git/refs.ts";
import { findCommit } from "../../git/revisions.ts";
import { trailersOf } from "../../git/trailers.ts";
import { entryAt, treeOf } from "../../git/trees.ts";
import { FILE, isFile } from "../../git/work-tree.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import { mayPushSomewhere } from "../protected-refs/abilities.ts";
import { openToCommit, stageCommit } from "../repositories/commit.ts";
import { CONTENT_BYTES } from "../repositories/content.ts";
import { type OpenRepository, openRepository } from "../repositories/open.ts";
import { treePath } from "../repositories/rules.ts";
import { applyAll, openToChange } from "../repositories/write.ts";

const input = {
  version: param.text(),
  from: param.unlessBlank(param.text({ max: 1024 })),
  to: param.unlessBlank(param.text({ max: 1024 })),
  date: param.optional(param.instant()),
  trailer: param.unlessBlank(param.text()),
  config_file: param.unlessBlank(param.text({ max: 4096 })),
  config_file_ref: param.unlessBlank(param.text({ max: 1024 })),
};

/** Which section a changelog gets. By default, it goes up to the newest commit of the default branch. */
type Asked = param.Input<typeof input>;

type Preparing = Pick<PrepareContext, "db" | "store" | "now" | "budget"> & {
  readonly source: Source;
};

interface Entry {
  readonly title: string;
  readonly commit: number;
}

const VERSION = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;
/** Larger files of settings are refused. */
const MAX_CONFIG = 64 * 1024;
/** Characters of titles in a section; longer sections are refused. */
const MAX_TITLES = 2 * 1024 * 1024;
/** Settings that this server does not follow. */
const UNSUPPORTED = ["template", "date_format", "tag_regex", "include_groups"];

/** 422 with what is wrong, as GitLab says it. */
const failed = (reason: string) =>
  new ApiError(422, { message: `Failed to generate the changelog: ${reason}` });

/** The version without its `v`. @throws ApiError 422 if it is none */
function versionOf(text: string): string {
  if (!VERSION.test(text)) throw failed(`${text.slice(0, 100)} is not a semantic version`);
  return text.replace(/^v/, "");
}

const numbersOf = (version: string) => {
  const [, ...parts] = VERSION.exec(version) ?? [];
  return parts[3] === undefined && parts[0] !== undefined
    ? parts.slice(0, 3).map(Number)
    : undefined;
};
const compare = (a: readonly number[], b: readonly number[]) =>
  a.map((part, at) => part - (b[at] as number)).find((difference) => difference !== 0) ?? 0;

/** The commit of the last tag of a release before a version. @throws ApiError 422 if there is none */
async function previousRelease(
  db: Reader,
  { row, repository }: OpenRepository,
  version: string,
): Promise<number> {
  const [release = version] = version.split(/[-+]/);
  const wanted = numbersOf(release) as number[];
  const refs = row ? await listRefsBelow(db, row.id, TAGS) : [];
  let best: { commit: number; numbers: number[] } | undefined;
  for (const { name, oid, peeled } of refs) {
    const commit = commitNumber(repository, peeled ?? oid);
    const numbers = numbersOf(name.slice(TAGS.length));
    if (!numbers || commit === undefined || compare(numbers, wanted) >= 0) continue;
    if (!best || compare(numbers, best.numbers) > 0) best = { commit, numbers };
  }
  if (best) return best.commit;
  throw failed(
    "The commit start range is unspecified, and no previous tag could be found to use instead",
  );
}

/** The titles of categories, by the values of trailers. @throws ApiError 422 */
async function categoriesOf(
  { repository, budget }: OpenRepository,
  commit: number,
  path: string,
): Promise<ReadonlyMap<string, string>> {
  const found = await entryAt(repository, treeOf(repository, commit), path);
  const blob = found && isRegular(found.mode) ? repository.findHex(found.oid) : -1;
  if (blob < 0) return new Map();
  if (repository.sizeOf(blob) > MAX_CONFIG) throw failed(`${path} is too large`);
  const text = (await repository.read(blob)).data.toString("utf8");
  const { readDocument } = await import("../../ci/document.ts");
  const config = await budget.take(readDocument(text)).catch((error) => {
    throw error instanceof ConfigurationError ? failed(error.message) : error;
  });
  const unsupported = UNSUPPORTED.find((name) => config.has(name));
  if (unsupported) throw failed(`${unsupported} is not supported on this server`);
  const categories = config.get("categories");
  if (!isMapping(categories)) return new Map();
  return new Map([...categories].map(([value, title]) => [value, String(title)]));
}

/** The merge commits that brought commits to the branch, by the commits: its first parents are none of them. */
function bringers({ repository: { graph } }: OpenRepository, range: readonly number[]) {
  const within = new Set(range);
  const brought = new Map<number, number>();
  const main = new Set<number>();
  for (let at = range[0]; at !== undefined && within.has(at); at = graph.parentsOf(at)[0])
    main.add(at);
  for (const merge of range.toReversed()) {
    let at = graph.parentsOf(merge)[1];
    while (at !== undefined && within.has(at) && !main.has(at) && !brought.has(at)) {
      brought.set(at, merge);
      at = graph.parentsOf(at)[0];
    }
  }
  return brought;
}

/** The numbers of merged merge requests, by the commits that they were merged with. */
async function requestsBy(db: Reader, projectId: number, commits: ReadonlySet<string>) {
  const all = [...commits];
  const found = new Map<string, number>();
  for (let at = 0; at < all.length; at += 500) {
    const among = placeholders(all.slice(at, at + 500));
    const rows = await db.rows(
      `select coalesce(merge_commit_sha, squash_commit_sha, sha), iid from merge_requests
       where project_id = ? and state = 'merged' and coalesce(merge_commit_sha, squash_commit_sha, sha) in (${among.sql})`,
      [projectId, ...among.values],
    );
    for (const [sha, iid] of rows) found.set(String(sha), Number(iid));
  }
  return found;
}

/**
 * Writes the section of a changelog: the titles of commits with a trailer, by its value.
 *
 * @throws ApiError 422
 */
async function changelogOf(preparing: Preparing, asked: Asked): Promise<string> {
  const { from: start, to: end = "HEAD", config_file_ref: configRef = "HEAD" } = asked;
  const { trailer = "Changelog", config_file = ".gitlab/changelog_config.yml" } = asked;
  const { db } = preparing;
  const opened = await openRepository(preparing, [...(start ? [start] : []), end, configRef]);
  const { repository, budget, project } = opened;
  const version = versionOf(asked.version);
  const named = async (name: string) => {
    const commit = await findCommit(opened, name);
    if (commit === undefined) throw failed(`the commit ${name} does not exist`);
    return commit;
  };
  const from =
    start === undefined ? await previousRelease(db, opened, version) : await named(start);
  const to = await named(end);
  const titles = await categoriesOf(opened, await named(configRef), config_file);
  const log = logOf(repository, { from: [to], not: [from] });
  const range = await log.first(repository, Number.MAX_SAFE_INTEGER, budget);
  const categories = new Map<string, Entry[]>();
  const reverted = new Set<string>();
  let characters = 0;
  for (const number of range) {
    if (budget.isDue) await budget.pause();
    const { id, message } = await readCommit(repository, number);
    for (const [, sha] of message.matchAll(/^This reverts commit ([0-9a-f]{40})/gm)) {
      reverted.add(String(sha));
    }
    const value = trailersOf(message).find(([key]) => key === trailer)?.[1];
    if (value === undefined || reverted.has(id)) continue;
    const category = titles.get(value) ?? value;
    const entries = categories.get(category) ?? [];
    const title = titleOf(message);
    characters += title.length + category.length;
    if (characters > MAX_TITLES) throw failed("the section would be too long");
    entries.push({ title, commit: number });
    categories.set(category, entries);
  }
  const brought = bringers(opened, range);
  const idOf = (commit: number) => commitId(repository, commit);
  const wanted = [...categories.values()].flat().flatMap(({ commit }) => {
    const merge = brought.get(commit);
    return merge === undefined ? [idOf(commit)] : [idOf(commit), idOf(merge)];
  });
  const requests = await requestsBy(db, project.id, new Set(wanted));
  const lineOf = ({ title, commit }: Entry) => {
    const merge = brought.get(commit);
    const iid =
      requests.get(idOf(commit)) ?? (merge === undefined ? undefined : requests.get(idOf(merge)));
    const by = iid === undefined ? "" : ` ([merge request](${project.fullPath}!${iid}))`;
    return `- [${title}](${project.fullPath}@${idOf(commit)})${by}\n`;
  };
  const sections = [...categories].map(([category, entries]) => {
    const changes = entries.length === 1 ? "1 change" : `${entries.length} changes`;
    return `### ${category} (${changes})\n\n${entries.map(lineOf).join("")}`;
  });
  const body = sections.length > 0 ? sections.join("\n") : "No changes.\n";
  return `## ${version} (${dayOf(asked.date ?? preparing.now)})\n\n${body}`;
}

/** A changelog with one more section: above the newest one, and below what it begins with. */
function withSection(changelog: string, section: string): string {
  const newest = changelog.search(/^## v?\d/m);
  const [head, rest] =
    newest < 0
      ? [changelog.trim() === "" ? "" : `${changelog.trimEnd()}\n\n`, ""]
      : [changelog.slice(0, newest), changelog.slice(newest)];
  return `${head}${section}${rest === "" ? "" : `\n${rest}`}`;
}

const { get, post } = routes({
  source: "project",
  path: "/repository/changelog",
  repository: true,
});

/** Changelogs that are made of commits. */
export const changelogRoutes = [
  get("", {
    summary: "Write the section of a changelog about a version, from the trailers of its commits",
    access: "anyone",
    input,
    examples: [
      {
        notes:
          "## 1.1.0 (2026-06-15)\n\n### added (1 change)\n\n- [Add a thing](acme/site@6104942438c14ec7bd21c6cd5bd995272b3faff6)\n",
      },
    ],
    prepare: (asked, preparing) => changelogOf(preparing, asked),
    handle: ({ prepared: notes }) => new Json({ notes }),
  }),
  post("", {
    summary: "Add the section about a version to a file with a changelog, by a commit",
    access: "anyone",
    role: "developer",
    orWho: mayPushSomewhere,
    // Nobody may push to an archived project.
    whenArchived: "allow",
    concurrency: "per project",
    status: 200,
    input: {
      ...input,
      branch: param.unlessBlank(param.text({ max: 1024 })),
      file: param.unlessBlank(param.text({ max: 4096 })),
      message: param.unlessBlank(param.text({ max: param.LONG_TEXT })),
    },
    examples: [true],
    prepare: async (asked, preparing) => {
      const { rights } = await openToChange(preparing, []);
      const { branch = rights.defaultBranch, file = "CHANGELOG.md" } = asked;
      const version = versionOf(asked.version);
      const commit_message = asked.message ?? `Add changelog for version ${version}`;
      const place = await openToCommit(preparing, { branch, commit_message });
      const section = await changelogOf(preparing, { ...asked, to: asked.to ?? BRANCHES + branch });
      const path = treePath(file);
      const staged = await stageCommit(place, { branch, commit_message }, async (tree, draft) => {
        const found = await tree.find(path);
        if (found && !isFile(found)) throw failed(`${path} is no file`);
        const before = found ? (await draft.read(found.oid)).data : Buffer.alloc(0);
        if (before.length > CONTENT_BYTES) throw failed(`${path} is too large`);
        const oid = draft.add(BLOB, Buffer.from(withSection(before.toString("utf8"), section)));
        if (!(await tree.set(path, { mode: found?.mode ?? FILE, oid }))) {
          throw failed(`${path} is in a file`);
        }
      });
      return staged.received;
    },
    handle: async ({ db, prepared: received, now }) => {
      await applyAll(db, received, now);
      return new Json(true);
    },
  }),
];
