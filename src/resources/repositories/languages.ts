import { mayReadCode, type Source } from "../../core/access/source.ts";
import { ApiError } from "../../core/errors.ts";
import { Linguist } from "../../core/languages.ts";
import { Json, routes } from "../../core/resource.ts";
import { isRegular } from "../../git/changes.ts";
import { commitNumber } from "../../git/commits.ts";
import { FOLDER } from "../../git/objects.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import { entriesOf, entryAt, treeOf } from "../../git/trees.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Store, Value } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { MAIN, openRecord } from "./open.ts";

/** A language, and its share of the code in percent. */
export type Share = readonly [name: string, share: number];

/** Languages that are told, as in GitLab: those with the largest shares. */
const MOST_LANGUAGES = 5;
/** Entries of a repository with languages: linguist looks at no larger ones. */
const MOST_ENTRIES = 100_000;
/** Steps of comparing paths with `.gitattributes`: about a second. Repositories that would take more have no languages. */
const MOST_STEPS = 100_000_000;
/** Paths that would take more, some milliseconds, are left out. */
const MOST_STEPS_AT_ONCE = 1_000_000;
/** Longer paths, and larger files with attributes, are left out. */
const MAX_PATH = 4096;
const MAX_ATTRIBUTES = 64 * 1024;

/** The text of `.gitattributes` at the root of a tree. */
async function attributesOf(repository: Repository, tree: number): Promise<string> {
  const found = await entryAt(repository, tree, ".gitattributes");
  const blob = found && isRegular(found.mode) ? repository.findHex(found.oid) : -1;
  if (blob < 0 || repository.sizeOf(blob) > MAX_ATTRIBUTES) return "";
  return (await repository.read(blob)).data.toString("utf8");
}

/**
 * The languages of a commit, by the bytes of their files.
 *
 * @throws ApiError if other repositories have used up the request's budget
 */
async function languagesOf(repository: Repository, oid: string, budget: Budget): Promise<Share[]> {
  const root = treeOf(repository, commitNumber(repository, oid) as number);
  const linguist = new Linguist(await attributesOf(repository, root));
  const bytes = new Map<string, number>();
  const open = [{ tree: root, path: "" }];
  let seen = 0;
  let steps = 0;
  for (let folder = open.pop(); folder; folder = open.pop()) {
    const entries = await entriesOf(repository, folder.tree);
    seen += entries.length;
    if (seen > MOST_ENTRIES) return [];
    if (!budget.spend("entries", entries.length)) {
      throw new ApiError(400, { message: "Too many languages are asked for at once" });
    }
    for (const { mode, name, oid: object } of entries) {
      if (budget.isDue) await budget.pause();
      const path = folder.path + name;
      if (path.length > MAX_PATH) continue;
      if (mode === FOLDER) {
        if (linguist.isLeftOut(`${path}/`)) continue;
        open.push({ tree: repository.findHex(object), path: `${path}/` });
      } else if (isRegular(mode)) {
        const own = linguist.stepsFor(path);
        if (own > MOST_STEPS_AT_ONCE) continue;
        steps += own;
        if (steps > MOST_STEPS) return [];
        const language = linguist.languageOf(path);
        if (!language) continue;
        const size = repository.sizeOf(repository.findHex(object));
        bytes.set(language, (bytes.get(language) ?? 0) + size);
      }
    }
  }
  const total = [...bytes.values()].reduce((sum, size) => sum + size, 0);
  return [...bytes]
    .filter(([, size]) => size > 0)
    .sort(([a, most], [b, more]) => more - most || (a < b ? -1 : 1))
    .slice(0, MOST_LANGUAGES)
    .map(([name, size]) => [name, Math.round((10_000 * size) / total) / 100]);
}

/**
 * The languages of the default branches of projects, by their ids; those without code that the caller may read have none.
 * What was found out is kept until the branch changes.
 *
 * @param sources found for the caller
 */
export async function languagesByProject(
  { db, store, budget }: { db: Reader; store: Store; budget: Budget },
  sources: Iterable<Source>,
): Promise<Map<Value, readonly Share[]>> {
  const found = new Map<Value, readonly Share[]>();
  const ids = [...sources].filter(mayReadCode).map(({ id }) => id);
  if (ids.length === 0) return found;
  const among = placeholders(ids);
  const rows = await db.rows(
    `select r.project_id, r.id, r.version, f.oid, r.languages, r.languages_oid from git_repositories r
     join projects p on p.id = r.project_id
     join git_refs f on f.repository_id = r.id and f.name = '${BRANCHES}' || coalesce(p.default_branch, '${MAIN}')
     where r.project_id in (${among.sql}) and r.kind = 'code'`,
    among.values,
  );
  for (const [projectId, id, version, oid, kept, keptOid] of rows as [
    ...[number, number, number, string, string | null, string | null],
  ][]) {
    if (kept !== null && keptOid === oid) {
      found.set(projectId, JSON.parse(kept));
      continue;
    }
    const repository = await openRecord(store, { id, version });
    // Somebody has pushed since, and packed the repository again.
    if (repository.findHex(oid) < 0) continue;
    const shares = await languagesOf(repository, oid, budget);
    found.set(projectId, shares);
    await store.transaction(
      (tx) =>
        tx.run("update git_repositories set languages = ?, languages_oid = ? where id = ?", [
          ...[JSON.stringify(shares), oid, id],
        ]),
      { shared: true },
    );
  }
  return found;
}

/**
 * The names of the languages that were found out last of a project's code, which may have changed since: for jobs, which do
 * not wait for a walk.
 *
 * @returns `undefined` if nobody has asked yet
 */
export async function knownLanguages(
  db: Reader,
  projectId: number,
): Promise<readonly string[] | undefined> {
  const [found] = await db.rows(
    "select languages from git_repositories where project_id = ? and kind = 'code'",
    [projectId],
  );
  const kept = found?.[0] as string | null | undefined;
  return kept == null ? undefined : (JSON.parse(kept) as Share[]).map(([name]) => name);
}

/** What the code of projects is written in. */
export const languageRoutes = [
  routes({ source: "project" }).get("/languages", {
    summary: "Show the languages of a project's default branch, with their shares in percent",
    access: "anyone",
    examples: [{ Ruby: 66.69, JavaScript: 22.98, HTML: 10.33 }, {}],
    prepare: (_, { db, store, source, budget }) =>
      languagesByProject({ db, store, budget }, [source]),
    handle: ({ source, prepared }) => new Json(Object.fromEntries(prepared.get(source.id) ?? [])),
  }),
];
