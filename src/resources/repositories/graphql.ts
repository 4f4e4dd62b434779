import { sourcesById } from "../../core/access/source.ts";
import { visibleCode, visibleProjects } from "../../core/access/visibility.ts";
import { colorOf } from "../../core/languages.ts";
import { logOf } from "../../git/log.ts";
import { BLOB, COMMIT, FOLDER, TREE } from "../../git/objects.ts";
import { POINTER_BYTES, pointerIn } from "../../git/pointers.ts";
import { BRANCHES, bounds, TAGS } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import { findCommit } from "../../git/revisions.ts";
import { type ListedEntry, TreeList } from "../../git/tree-list.ts";
import { entryAt, partsOf, treeOf, typeOfMode } from "../../git/trees.ts";
import {
  about,
  arg,
  boolean,
  costing,
  enumeration,
  type GraphContext,
  GraphError,
  type GraphqlModule,
  loaded,
  NO_ROWS,
  one,
  PAGE_ARGS,
  pagesOf,
  property,
  required,
  rowType,
  string,
  type Values,
  valueType,
} from "../../graphql/declare.ts";
import { type LoadedList, listed, listOf, pageOfList } from "../../graphql/loaded-pages.ts";
import { all } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { fits } from "../protected-refs/wildcards.ts";
import { commit, readCommits } from "./graphql-commits.ts";
import { languagesByProject, type Share } from "./languages.ts";
import { type OpenRepository, openRepository } from "./open.ts";

const ENTRY_TYPE = enumeration("EntryType", "What an entry of a folder is.", [
  "tree",
  "blob",
  "commit",
]);
const REF_TYPE = enumeration("RefType", "Whether a name is that of a branch or of a tag.", {
  HEADS: BRANCHES,
  TAGS,
});

const TYPES = { [TREE]: "tree", [BLOB]: "blob", [COMMIT]: "commit" } as const;

/** An entry as it is shown. */
interface ShownEntry extends ListedEntry {
  readonly place: Place;
}

/** A commit of a repository that a field names. */
interface Place {
  readonly opened: OpenRepository;
  readonly commit: number;
  /** The name it was asked for by. */
  readonly ref: string;
}

const escaped = (path: string) => path.split("/").map(encodeURIComponent).join("/");
const pagePath = (kind: string) => (entry: ShownEntry) => {
  const { opened, ref } = entry.place;
  return `/${opened.project.fullPath}/-/${kind}/${escaped(ref)}/${escaped(entry.path)}`;
};

/** The object of Git LFS that a blob stands for, as long as the request's budget lasts. */
const lfsOidOf = async (
  { repository }: OpenRepository,
  object: number,
  { budget }: GraphContext,
) =>
  budget.spend("contents", POINTER_BYTES)
    ? ((await pointerIn(repository, object))?.oid ?? null)
    : null;

const entryFields = {
  id: required(property("ID", ({ oid }: ShownEntry) => oid)),
  sha: required(property("String", ({ oid }: ShownEntry) => oid)),
  name: required(property("String")),
  path: required(property("String")),
  flatPath: required(property("String", ({ path }: ShownEntry) => path)),
  type: required({
    ...property(ENTRY_TYPE.name, ({ mode }: ShownEntry) => TYPES[typeOfMode(mode)]),
    declares: ENTRY_TYPE,
  }),
};
/** Where an entry's page is. */
const pageFields = (kind: string) => ({
  webPath: property("String", pagePath(kind)),
  webUrl: property(
    "String",
    (entry: ShownEntry, { view }: GraphContext) => view.base + pagePath(kind)(entry),
  ),
});

const treeEntry = valueType("TreeEntry", "A folder in a folder.", {
  ...entryFields,
  ...pageFields("tree"),
});
const blob = valueType("Blob", "A file in a folder.", {
  ...entryFields,
  ...pageFields("blob"),
  mode: property("String", ({ mode }: ShownEntry) => mode.toString(8)),
  lfsOid: about(
    "The object of Git LFS that it stands for.",
    property("String", ({ oid, place: { opened } }: ShownEntry, context: GraphContext) =>
      lfsOidOf(opened, opened.repository.findHex(oid), context),
    ),
  ),
});
const submodule = valueType("Submodule", "A commit of another repository in a folder.", {
  ...entryFields,
  webUrl: property("String", () => null),
  treeUrl: property("String", () => null),
});

type Kind = typeof TREE | typeof BLOB | typeof COMMIT;

/** What is in a folder of a commit. */
interface Folder {
  readonly place: Place;
  readonly path: string;
  readonly lists: Readonly<Record<Kind, LoadedList>>;
}

const tree = valueType("Tree", "A folder of a repository.", {
  trees: required(listed(treeEntry, ({ lists }: Folder) => lists[TREE])),
  blobs: required(listed(blob, ({ lists }: Folder) => lists[BLOB])),
  submodules: required(listed(submodule, ({ lists }: Folder) => lists[COMMIT])),
  lastCommit: about(
    "The newest commit that changed it.",
    property(commit, async ({ place, path }: Folder, { db }: GraphContext) => {
      const { repository, project, budget } = place.opened;
      const log = logOf(repository, { from: [place.commit], path: path || undefined });
      const found = (await log.first(repository, 1, budget)).slice(0, 1);
      const [last] = await readCommits(db, { repository, project }, found);
      return last ?? null;
    }),
  ),
});

/** A file with its content. */
interface ShownBlob extends ShownEntry {
  readonly object: number;
  readonly size: number;
}

/** Repositories of a list that are opened. */
const MOST_OPENED = 20;
/** Names of branches that a field gives. */
const MOST_NAMES = 1000;
/** Files that a field asks for. */
const MOST_PATHS = 100;

/** The content of a file, as long as the request's budget lasts. */
const contentOf = async ({ object, size, place }: ShownBlob, { budget }: GraphContext) =>
  budget.spend("contents", size) ? (await place.opened.repository.read(object)).data : undefined;
const text = about(
  "Null for files that are not text, and once 16 MiB of contents were read for a request.",
  property("String", async (shown: ShownBlob, context: GraphContext) => {
    const content = await contentOf(shown, context);
    return content === undefined || content.includes(0) ? null : content.toString("utf8");
  }),
);

const repositoryBlob = valueType("RepositoryBlob", "A file of a repository with its content.", {
  id: required(property("ID", ({ oid }: ShownBlob) => `gid://gitlab/RepositoryBlob/${oid}`)),
  oid: required(property("String")),
  name: property("String"),
  path: required(property("String")),
  mode: property("String", ({ mode }: ShownBlob) => mode.toString(8)),
  size: property("BigInt", ({ size }: ShownBlob) => String(size)),
  rawSize: property("Int", ({ size }: ShownBlob) => size),
  rawBlob: text,
  rawTextBlob: text,
  plainData: text,
  base64EncodedBlob: property("String", async (shown: ShownBlob, context: GraphContext) =>
    (await contentOf(shown, context))?.toString("base64"),
  ),
  webPath: property("String", pagePath("blob")),
  rawPath: property("String", pagePath("raw")),
  historyPath: property("String", pagePath("commits")),
  blamePath: property("String", pagePath("blame")),
  editBlobPath: property("String", pagePath("edit")),
  lfsOid: property("String", ({ object, place }: ShownBlob, context: GraphContext) =>
    lfsOidOf(place.opened, object, context),
  ),
});

/** The repositories of projects, by their ids. @throws GraphError for too many */
export async function openAll(
  ids: readonly Value[],
  { db, store, viewer, budget }: GraphContext,
  names: readonly string[],
): Promise<Map<Value, OpenRepository>> {
  if (ids.length > MOST_OPENED) {
    throw new GraphError(`The code of more than ${MOST_OPENED} projects can't be read`);
  }
  const opened = new Map<Value, OpenRepository>();
  for (const [id, source] of await sourcesById(db, "project", ids, viewer)) {
    opened.set(id, await openRepository({ db, store, source, budget }, names));
  }
  return opened;
}

/** Arguments that name a commit. */
const atRef = {
  ref: arg.about("A branch, tag or commit. Default: the default branch.", arg.string),
  refType: arg.choice(REF_TYPE),
};
type AtRef = Partial<Values<typeof atRef>>;

/** The commits that arguments name, in each of the repositories that have one. */
async function placesOf(ids: readonly Value[], context: GraphContext, { ref, refType }: AtRef) {
  const name = ref === undefined || ref === "" ? "HEAD" : `${refType ?? ""}${ref}`;
  const places: (readonly [Value, Place])[] = [];
  for (const [id, opened] of await openAll(ids, context, [name])) {
    const commit = await findCommit(opened, name);
    if (commit === undefined) continue;
    places.push([id, { opened, commit, ref: ref || opened.defaultBranch }]);
  }
  return places;
}

const inFolder = {
  ...atRef,
  path: arg.withDefault(arg.string, ""),
  recursive: arg.withDefault(arg.boolean, false),
};

/** The entries of a folder of each repository; none where it is missing. */
async function entriesOf(
  ids: readonly Value[],
  context: GraphContext,
  { path: asked, recursive, ...at }: Values<typeof inFolder>,
) {
  const found = new Map<Value, { place: Place; path: string; entries: TreeList | undefined }>();
  const path = partsOf(asked).join("/");
  for (const [id, place] of await placesOf(ids, context, at)) {
    const { repository } = place.opened;
    const object = await treeAt(repository, place.commit, path);
    const entries =
      object === undefined ? undefined : new TreeList(repository, object, path, recursive);
    found.set(id, { place, path, entries });
  }
  return found;
}

const shownIn = (place: Place, entries: readonly ListedEntry[] = []): ShownEntry[] =>
  entries.map((entry) => ({ ...entry, place }));

/** A folder of each repository, of which pages of each kind of entries are read. */
async function foldersOf(
  ids: readonly Value[],
  context: GraphContext,
  args: Values<typeof inFolder>,
): Promise<Map<Value, Folder>> {
  const folders = new Map<Value, Folder>();
  for (const [id, { place, path, entries }] of await entriesOf(ids, context, args)) {
    const ofKind = async (kind: Kind): Promise<LoadedList> => ({
      count: (await entries?.lengthOf(kind)) ?? 0,
      read: async (from, to) => shownIn(place, await entries?.sliceOf(kind, from, to)),
    });
    const lists = {
      [TREE]: await ofKind(TREE),
      [BLOB]: await ofKind(BLOB),
      [COMMIT]: await ofKind(COMMIT),
    };
    folders.set(id, { place, path, lists });
  }
  return folders;
}

/** A page of a folder of each repository: as in GitLab a page of one folder, which has the entries of the page. */
async function pagesOfFolders(
  ids: readonly Value[],
  context: GraphContext,
  args: Values<typeof inFolder & typeof PAGE_ARGS>,
): Promise<Map<Value, object>> {
  const pages = new Map<Value, object>();
  for (const [id, { place, path, entries }] of await entriesOf(ids, context, args)) {
    const page = await pageOfList(
      {
        count: (await entries?.length()) ?? 0,
        read: async (from, to) => shownIn(place, await entries?.slice(from, to)),
      },
      args,
    );
    const ofKind = (kind: Kind) =>
      listOf(page.nodes.filter(({ mode }) => typeOfMode(mode) === kind));
    const lists = { [TREE]: ofKind(TREE), [BLOB]: ofKind(BLOB), [COMMIT]: ofKind(COMMIT) };
    const folder: Folder = { place, path, lists };
    const edge = { cursor: page.pageInfo.endCursor ?? "", node: folder };
    pages.set(id, { ...page, nodes: [folder], edges: [edge] });
  }
  return pages;
}

async function treeAt(
  repository: Repository,
  commit: number,
  path: string,
): Promise<number | undefined> {
  const root = treeOf(repository, commit);
  if (path === "") return root;
  const found = await entryAt(repository, root, path);
  return found?.mode === FOLDER ? repository.findHex(found.oid) : undefined;
}

/** The files at paths of each repository. */
async function blobsOf(
  ids: readonly Value[],
  context: GraphContext,
  { paths, ...at }: AtRef & { paths: readonly string[] },
): Promise<Map<Value, LoadedList>> {
  if (paths.length > MOST_PATHS) {
    throw new GraphError(`Files of more than ${MOST_PATHS} paths can't be read`);
  }
  const found = new Map<Value, ShownBlob[]>();
  for (const [id, place] of await placesOf(ids, context, at)) {
    const { repository } = place.opened;
    const root = treeOf(repository, place.commit);
    const blobs: ShownBlob[] = [];
    for (const path of new Set(paths.map((one) => partsOf(one).join("/")))) {
      const entry = path === "" ? undefined : await entryAt(repository, root, path);
      if (!entry || typeOfMode(entry.mode) !== BLOB) continue;
      const object = repository.findHex(entry.oid);
      blobs.push({ ...entry, path, place, object, size: repository.sizeOf(object) });
    }
    found.set(id, blobs);
  }
  return new Map([...found].map(([id, blobs]) => [id, listOf(blobs)]));
}

const HAS_CODE = `case when exists (select 1 from git_repositories g join git_refs r on r.repository_id = g.id
  where g.project_id = p.id and g.kind = 'code') then 1 else 0 end`;

/** The names of branches of repositories that fit a pattern, with one statement. */
async function branchNamesOf(
  ids: readonly Value[],
  { db }: GraphContext,
  { searchPattern, offset, limit }: { searchPattern: string; offset: number; limit: number },
): Promise<Map<Value, string[]>> {
  const among = placeholders(ids);
  const rows = await db.rows(
    `select g.project_id, r.name from git_repositories g join git_refs r on r.repository_id = g.id
     where g.project_id in (${among.sql}) and g.kind = 'code' and r.name > ? and r.name < ?
     order by g.project_id, r.name`,
    [...among.values, ...bounds(BRANCHES)],
  );
  const names = new Map<Value, string[]>(ids.map((id) => [id, []]));
  for (const [id, name] of rows) {
    const short = String(name).slice(BRANCHES.length);
    if (fits(searchPattern, short)) names.get(id as Value)?.push(short);
  }
  const [from, size] = [Math.max(offset, 0), Math.min(Math.max(limit, 0), MOST_NAMES)];
  return new Map([...names].map(([id, all]) => [id, all.slice(from, from + size)]));
}

const repository = rowType("Repository", {
  about: "The code of a project.",
  from: "projects p",
  key: "p.id",
  visible: (viewer) => all([visibleProjects(viewer), visibleCode(viewer)]),
  fields: {
    empty: required(boolean(`1 - ${HAS_CODE}`)),
    exists: required(boolean(HAS_CODE)),
    rootRef: about(
      "The default branch, once something was pushed.",
      string(`case when ${HAS_CODE} = 1 then p.default_branch end`),
    ),
    branchNames: about(
      "The names of branches, at most a thousand, that fit a pattern in which each `*` stands for any characters.",
      costing(
        20,
        loaded("[String!]", branchNamesOf, {
          args: {
            searchPattern: arg.required(arg.string),
            offset: arg.required(arg.int),
            limit: arg.required(arg.int),
          },
        }),
      ),
    ),
    tree: costing(2, loaded(tree, foldersOf, { args: inFolder })),
    paginatedTree: costing(
      2,
      loaded(pagesOf(tree, "Pages of a folder."), pagesOfFolders, {
        args: { ...inFolder, ...PAGE_ARGS },
        empty: NO_ROWS,
      }),
    ),
    blobs: costing(
      2,
      loaded(
        pagesOf(repositoryBlob, "Pages of files."),
        async (ids, context, { first, last, after, before, ...args }) => {
          const pages = new Map<Value, object>();
          for (const [id, list] of await blobsOf(ids, context, args)) {
            pages.set(id, await pageOfList(list, { first, last, after, before }));
          }
          return pages;
        },
        {
          args: { ...atRef, paths: arg.required(arg.list(arg.string)), ...PAGE_ARGS },
          empty: NO_ROWS,
        },
      ),
    ),
  },
});

const language = valueType("RepositoryLanguage", "A language that code is written in.", {
  name: required(property("String", ([name]: Share) => name)),
  share: property("Float", ([, share]: Share) => share),
  color: property("String", ([name]: Share) => colorOf(name)),
});

const languages = about(
  "The languages of the default branch, at most five, the largest shares first.",
  costing(2, {
    ...loaded(
      `[${language.name}!]`,
      async (ids, context) =>
        languagesByProject(
          context,
          (await sourcesById(context.db, "project", ids, context.viewer)).values(),
        ),
      { empty: [] },
    ),
    declares: language,
  }),
);

/** The code of projects. */
export const graphqlModule: GraphqlModule = {
  types: [repository],
  extend: { Project: { repository: one("Repository", "p.id"), languages } },
};
