import { ApiError, badRequest, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import type { Bytes } from "../../core/http/incoming.ts";
import * as param from "../../core/input.ts";
import { type Page, pageOf } from "../../core/pagination.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { RawReply, type Resource, routes } from "../../core/resource.ts";
import { readCommit } from "../../git/commits.ts";
import { logOf } from "../../git/log.ts";
import { mergeBases } from "../../git/merge-bases.ts";
import { BLOB, COMMIT, FOLDER, TREE } from "../../git/objects.ts";
import { findCommit } from "../../git/revisions.ts";
import { type ListedEntry, TreeList } from "../../git/tree-list.ts";
import { entryAt, partsOf, treeOf, typeOfMode } from "../../git/trees.ts";
import type { Value } from "../../store/port.ts";
import { archiveInput, archiveOf } from "./archives.ts";
import { bodyOf, jsonWithContent } from "./blobs.ts";
import { compare, comparison, openCompared } from "./compare.ts";
import { fetchRoutes } from "./fetches.ts";
import { housekeepingRoutes } from "./housekeeping.ts";
import { commit, commitRow, commitValues } from "./json.ts";
import { languageRoutes } from "./languages.ts";
import { type OpenRepository, openRepository } from "./open.ts";
import { migrations } from "./table.ts";

/** The path of a file or folder, and the names of branches, tags and commits. */
const text = param.anyText({ max: 4096 });

const entry = presenter({
  id: field.text("oid"),
  name: field.text("name"),
  type: { ...field.text("type"), type: "tree, blob, commit" },
  path: field.text("path"),
  mode: field.text("mode"),
});

const TYPES = { [TREE]: "tree", [BLOB]: "blob", [COMMIT]: "commit" } as const;

/** The row of an entry, in the order of its fields. */
const rowOf = ({ oid, name, mode, path }: ListedEntry): Value[] => [
  oid,
  name,
  TYPES[typeOfMode(mode)],
  path,
  mode.toString(8).padStart(6, "0"),
];

/** Finds the folder at a path of a commit. @throws ApiError 404 */
async function findFolder(
  opened: OpenRepository,
  ref: string,
  path: string,
): Promise<{ tree: number; path: string }> {
  const { repository } = opened;
  const number = await findCommit(opened, ref);
  if (number === undefined) throw notFound("Tree");
  const root = treeOf(repository, number);
  const parts = partsOf(path);
  if (parts.length === 0) return { tree: root, path: "" };
  const found = await entryAt(repository, root, path);
  if (found?.mode !== FOLDER) throw notFound("invalid revision or path");
  return { tree: repository.findHex(found.oid), path: parts.join("/") };
}

/** What a page token stands for: how many entries come before. */
const pageToken = param.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

/** As many of the newest commits are looked at for contributors, as in GitLab. */
const CONTRIBUTIONS = 2000;

const contributor = presenter({
  name: field.text("name"),
  email: field.text("email"),
  commits: field.integer("commits"),
  additions: field.constant(0),
  deletions: field.constant(0),
});
const contributorRow = rowMaker(contributor);

/** Who wrote the newest commits that are no merges, by their addresses. */
async function contributorsTo(opened: OpenRepository, ref: string) {
  const { repository, budget } = opened;
  const from = await findCommit(opened, ref);
  const people = new Map<string, { name: string; email: string; commits: number }>();
  if (from === undefined) return [];
  const log = logOf(repository, { from: [from], order: "date", isWithoutMerges: true });
  const found = await log.first(repository, CONTRIBUTIONS, budget);
  for (const number of found.slice(0, CONTRIBUTIONS)) {
    const { name, email } = (await readCommit(repository, number)).author;
    const known = people.get(email) ?? { name, email, commits: 0 };
    people.set(email, { name: known.name || name, email, commits: known.commits + 1 });
  }
  return [...people.values()];
}

const { get, list } = routes({ source: "project", path: "/repository", repository: true });

/** Finds a blob by its name. @throws ApiError 404 */
async function requireBlob({ repository, shown }: OpenRepository, sha: string): Promise<number> {
  const object = /^[0-9a-f]{40}$/i.test(sha) ? repository.findHex(sha) : -1;
  const isBlob = object >= 0 && repository.typeOf(object) === BLOB;
  if (!isBlob || !(await shown.has(object))) throw notFound("Blob");
  return object;
}

/** Trees, blobs, archives and the like of projects' repositories. */
export const repositoryResource: Resource = {
  name: "Repositories",
  migrations,
  routes: [
    list("/tree", {
      summary: "List the files and folders of a folder: folders first, then files, then submodules",
      access: "anyone",
      input: {
        ref: param.optional(text),
        path: param.optional(text),
        recursive: param.optional(param.boolean()),
        pagination: param.optional(param.choice(["keyset", "legacy", "none"])),
        page_token: param.optional(pageToken),
      },
      presenter: entry,
      prepare: ({ ref }, preparing) => openRepository(preparing, [ref || "HEAD"]),
      handle: async ({ input, page, prepared: opened }) => {
        const { ref, path = "", recursive = false, pagination, page_token = 0 } = input;
        if (pagination === "none" && !recursive) {
          const error = 'pagination cannot be "none" unless "recursive" is true';
          throw new ApiError(400, { error });
        }
        const folder = await findFolder(opened, ref || "HEAD", path);
        const entries = new TreeList(
          opened.repository,
          folder.tree,
          folder.path,
          recursive,
          opened.budget,
        );
        const length = await entries.length();
        const read = async (from: number, to: number) => (await entries.slice(from, to)).map(rowOf);
        if (pagination === "keyset") {
          const end = page_token + page.size;
          const rows = await read(page_token, end);
          return { rows, next: end < length ? { page_token: String(end) } : undefined };
        }
        const whole: Page = { ...page, number: 1, size: length };
        return pagination === "none"
          ? { ...(await pageOf(whole, length, read)), isWhole: true }
          : pageOf(page, length, read);
      },
    }),
    get("/archive", {
      answersWith: "application/octet-stream",
      summary: "Get the files of a commit, as a compressed tar archive",
      access: "anyone",
      input: archiveInput,
      prepare: ({ sha }, preparing) => openRepository(preparing, [sha || "HEAD"]),
      handle: ({ input, prepared: opened }) => archiveOf(opened, "tar.gz", input),
    }),
    get("/archive.:format", {
      answersWith: "application/octet-stream",
      summary: "Get the files of a commit, as an archive: tar, tar.gz, tgz, gz or zip",
      access: "anyone",
      input: { ...archiveInput, format: param.anyText() },
      prepare: ({ sha }, preparing) => openRepository(preparing, [sha || "HEAD"]),
      handle: ({ input, prepared: opened }) => archiveOf(opened, input.format, input),
    }),
    list("/contributors", {
      summary: "List who wrote the newest 2000 commits, and how many of them",
      access: "anyone",
      input: {
        ref: param.optional(text),
        order_by: param.optional(param.choice(["commits", "name", "email"])),
        sort: param.optional(param.choice(["asc", "desc"])),
      },
      presenter: contributor,
      prepare: ({ ref }, preparing) => openRepository(preparing, [ref || "HEAD"]),
      handle: async ({ input, page, prepared: opened }) => {
        const { ref, order_by = "commits", sort = "asc" } = input;
        const people = await contributorsTo(opened, ref || "HEAD");
        people.sort((a, b) => (a[order_by] < b[order_by] ? -1 : a[order_by] > b[order_by] ? 1 : 0));
        if (sort === "desc") people.reverse();
        return pageOf(page, people.length, async (from, to) =>
          people.slice(from, to).map((person) => contributorRow(person)),
        );
      },
    }),
    get("/compare", {
      summary:
        "Compare two branches, tags or commits: the commits that only the second one has, and what changed",
      access: "anyone",
      input: {
        from: text,
        to: text,
        from_project_id: param.optional(param.integer()),
        straight: param.optional(param.boolean()),
        unidiff: param.optional(param.boolean()),
      },
      presenter: comparison,
      prepare: (input, preparing) => openCompared(preparing, input),
      handle: ({ input, view, budget, prepared: compared }) =>
        compare(compared, input, view, budget),
    }),
    get("/merge_base", {
      summary: "Get the best common ancestor of commits",
      access: "anyone",
      input: { refs: param.arrayOf(text) },
      presenter: commit,
      prepare: ({ refs }, preparing) => openRepository(preparing, namesIn(refs)),
      handle: async ({ input, prepared: opened }) => {
        const names = namesIn(input.refs);
        if (names.length < 2) throw badRequest("Provide at least 2 refs");
        const found: number[] = [];
        const unknown: string[] = [];
        for (const name of names) {
          const number = await findCommit(opened, name);
          if (number === undefined) unknown.push(name);
          else found.push(number);
        }
        if (unknown.length > 0) {
          const what = unknown.length > 1 ? "refs" : "ref";
          throw badRequest(`Could not find ${what}: ${unknown.join(", ")}`);
        }
        const { repository } = opened;
        const [first = 0, ...others] = found;
        const [base] = mergeBases(repository.graph, first, others);
        if (base === undefined) throw notFound("Merge Base");
        return commitRow(commitValues(opened, await readCommit(repository, base)));
      },
    }),
    get("/blobs/:sha", {
      summary: "Get a blob by its name: its size and, in Base64, its content",
      access: "anyone",
      input: { sha: text },
      examples: [
        {
          size: 6,
          encoding: "base64",
          content: "aGVsbG8K",
          sha: "ce013625030ba8dba906f756967f9e9ca394464a",
        },
      ],
      prepare: (_, preparing) => openRepository(preparing),
      handle: async ({ input, prepared: opened }) => {
        const object = await requireBlob(opened, input.sha);
        const { repository } = opened;
        const before = { size: repository.sizeOf(object), encoding: "base64" };
        const after = { sha: input.sha.toLowerCase() };
        const body = await jsonWithContent(repository, object, before, after);
        return new RawReply(200, { "content-type": "application/json" }, body);
      },
    }),
    get("/blobs/:sha/raw", {
      answersWith: "text/plain",
      summary: "Get the content of a blob",
      access: "anyone",
      input: { sha: text },
      prepare: (_, preparing) => openRepository(preparing),
      handle: async ({ input, prepared: opened }) => {
        const object = await requireBlob(opened, input.sha);
        return rawBlob(input.sha.toLowerCase(), await bodyOf(opened.repository, object));
      },
    }),
    ...housekeepingRoutes,
    ...languageRoutes,
    ...fetchRoutes,
  ],
};

/** A blob as it is. Browsers show it as text, whatever it is. */
function rawBlob(oid: string, body: Buffer | Bytes): RawReply {
  return new RawReply(
    200,
    {
      "content-type": "text/plain",
      "content-disposition": "inline",
      "content-security-policy": "sandbox",
      etag: `W/"${oid}"`,
    },
    body,
  );
}

/** The names in a list whose entries may be lists, too. */
const namesIn = (refs: readonly string[]) =>
  refs.flatMap((ref) => ref.split(",", 100)).filter((name) => name !== "");
