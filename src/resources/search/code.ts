import { mayReadCode, type Source, sourcesById } from "../../core/access/source.ts";
import * as field from "../../core/field.ts";
import { offsetOf, PAGE_LIMITS, type Page, type RowPage, readPage } from "../../core/pagination.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import type { PrepareContext } from "../../core/resource.ts";
import { readCommit } from "../../git/commits.ts";
import { logOf } from "../../git/log.ts";
import type { Repository } from "../../git/repository.ts";
import { findCommit } from "../../git/revisions.ts";
import { treeOf } from "../../git/trees.ts";
import type { Value } from "../../store/port.ts";
import type { Pace } from "../../turns/pace.ts";
import { list as listProjects } from "../projects/list.ts";
import { commitRow, commitValues } from "../repositories/json.ts";
import { type OpenRepository, openRepository } from "../repositories/open.ts";
import { openWiki } from "../wikis/open.ts";
import { PageTree } from "../wikis/pages.ts";
import { type Budget, filesBelow, matchesIn, OF_MANY, OF_PROJECT, wantedIn } from "./text.ts";

/** A part of a file that has the text that was searched for. */
export const blob = presenter({
  basename: field.text("basename"),
  data: field.text("data"),
  path: field.text("path"),
  filename: field.text("path"),
  id: field.constant(null),
  ref: field.text("ref"),
  startline: field.integer("startline"),
  project_id: field.integer("project_id"),
});
const blobRow = rowMaker(blob);

/** The code or the wiki of a project that is searched. */
type Searchable =
  | { readonly kind: "code"; readonly opened: OpenRepository; readonly tip: number; ref: string }
  | { readonly kind: "wiki"; readonly repository: Repository; tree: string; ref: string };

/** What is searched, project by project. */
export interface Places {
  /** Opens one after the other, without those in which there is nothing that the caller may read. */
  open(): AsyncIterable<{ readonly searched: Searchable; readonly source: Source }>;
  /** What the search looks at. */
  readonly most: Readonly<Budget>;
  /** Whether there are projects that are left out. */
  readonly areCut: boolean;
  readonly pace: Pace;
}

type Preparing = PrepareContext & { readonly source: Source };

/** Opens a project for a search. @param ref a branch, tag or commit. Default: the default branch */
type Opening = (preparing: Preparing, ref?: string) => Promise<Searchable | undefined>;

/** The project of a route. */
export async function ofProject(
  preparing: Preparing,
  open: Opening,
  ref: string | undefined,
): Promise<Places> {
  const searched = await open(preparing, ref);
  const { source } = preparing;
  return {
    async *open() {
      if (searched) yield { searched, source };
    },
    most: OF_PROJECT,
    areCut: false,
    pace: preparing.budget,
  };
}

/** The projects that a search of several looks through, at most. */
const MOST_PROJECTS = 100;

const projectId = presenter({ id: field.integer("p.id") });

/** The projects of a group, or all, that the caller can see: those with the newest activity, in the order of their ids. */
export async function ofMany(preparing: PrepareContext, open: Opening): Promise<Places> {
  const { db, viewer, source: group } = preparing;
  const page = readPage({ per_page: MOST_PROJECTS }, PAGE_LIMITS);
  const filter = { namespaceId: group?.id, below: group !== undefined, archived: false };
  const order = { orderBy: "last_activity_at", sort: "desc" } as const;
  const listed = await listProjects(db, projectId, page, viewer, filter, order);
  const ids = listed.rows.map(([id]) => id as number).sort((a, b) => a - b);
  const sources = await sourcesById(db, "project", ids, viewer);
  return {
    async *open() {
      for (const id of ids) {
        const source = sources.get(id);
        const searched = source && (await open({ ...preparing, source }));
        if (searched) yield { searched, source };
      }
    },
    most: OF_MANY,
    areCut: listed.hasNext,
    pace: preparing.budget,
  };
}

/** Opens a project's code. */
export async function openCode(
  preparing: Preparing,
  ref = "HEAD",
): Promise<Searchable | undefined> {
  if (!mayReadCode(preparing.source)) return undefined;
  const opened = await openRepository(preparing, [ref]);
  const tip = await findCommit(opened, ref);
  if (tip === undefined) return undefined;
  return { kind: "code", opened, tip, ref: ref === "HEAD" ? opened.defaultBranch : ref };
}

/** Opens a project's wiki. */
export async function openWikiPages(preparing: Preparing): Promise<Searchable | undefined> {
  if (!preparing.source.features.includes("wiki")) return undefined;
  const { repository, tip, head } = await openWiki(preparing);
  const ref = head.replace("refs/heads/", "");
  return tip && { kind: "wiki", repository, tree: tip.tree, ref };
}

/** A page of what was found. @param isCut whether there may be more */
function pageOf(page: Page, found: readonly Value[][], isCut: boolean): RowPage {
  const end = offsetOf(page) + page.size;
  const rows = found.slice(offsetOf(page), end);
  return { rows, hasNext: found.length > end, total: isCut ? undefined : found.length };
}

/** How many results are looked for: those of the page and those before, and one more. */
const neededFor = (page: Page) => offsetOf(page) + page.size + 1;

/** Finds parts of files, or of wiki pages. */
export async function findBlobs(places: Places, page: Page, search: string): Promise<RowPage> {
  const wanted = wantedIn(search);
  const needed = neededFor(page);
  const budget = { ...places.most };
  const rows: Value[][] = [];
  for await (const { searched, source } of places.open()) {
    const files =
      searched.kind === "code"
        ? filesBelow(
            searched.opened.repository,
            treeOf(searched.opened.repository, searched.tip),
            budget,
          )
        : new PageTree(searched.repository, searched.tree).all();
    const repository = searched.kind === "code" ? searched.opened.repository : searched.repository;
    const left = needed - rows.length;
    const { matches, isCut } = await matchesIn(
      repository,
      files,
      wanted,
      budget,
      left,
      places.pace,
    );
    for (const { path, startline, data } of matches) {
      const basename = path.replace(/\.[^./]*$/, "");
      const project_id = source.id;
      rows.push(blobRow({ basename, data, path, ref: searched.ref, startline, project_id }));
    }
    if (isCut || rows.length >= needed) return pageOf(page, rows, true);
  }
  return pageOf(page, rows, places.areCut);
}

/** Finds commits by their messages, among the newest ones, and those with its name. */
export async function findCommits(places: Places, page: Page, text: string): Promise<RowPage> {
  const wanted = text.toLowerCase();
  const isName = /^[0-9a-f]{7,40}$/.test(wanted);
  const needed = neededFor(page);
  const { pace } = places;
  let left = places.most.commits;
  const rows: Value[][] = [];
  for await (const { searched } of places.open()) {
    if (searched.kind !== "code") continue;
    const { opened, tip } = searched;
    const log = logOf(opened.repository, { from: [tip] });
    for (const number of await log.first(opened.repository, left + 1, pace)) {
      if (left === 0) return pageOf(page, rows, true);
      left -= 1;
      const commit = await readCommit(opened.repository, number);
      const isMeant = isName && commit.id.startsWith(wanted);
      if (isMeant || commit.message.toLowerCase().includes(wanted)) {
        rows.push(commitRow(commitValues(opened, commit)));
      }
      if (rows.length >= needed) return pageOf(page, rows, true);
      if (pace.isDue) await pace.pause();
    }
  }
  return pageOf(page, rows, places.areCut);
}
