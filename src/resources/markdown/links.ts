import { inheritedBy } from "../../core/access/owner.ts";
import { findVisible, homeOf, mayReadCode, type Source } from "../../core/access/source.ts";
import {
  NOT_DELETED_LABEL,
  NOT_DELETED_MILESTONE,
  type Viewer,
  visibleGroups,
  visibleProjects,
} from "../../core/access/visibility.ts";
import type { View } from "../../core/field.ts";
import type { ReferenceLink } from "../../core/markdown.ts";
import type { TextReference } from "../../core/markdown-references.ts";
import { readCommit, titleOf } from "../../git/commits.ts";
import { findCommit } from "../../git/revisions.ts";
import { all, any, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Store, Value } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { EPIC, GROUP_PATH } from "../issuables/epic.ts";
import type { NoteableType } from "../issuables/type.ts";
import { contrast, isDark, LIGHT } from "../labels/json.ts";
import { NOTEABLE_TYPES } from "../notes/noteables.ts";
import { type OpenRepository, openRepository } from "../repositories/open.ts";

/** For whom a text is rendered. */
export interface Rendering {
  readonly db: Reader;
  readonly viewer: Viewer;
  readonly view: View;
  readonly budget: Budget;
  /** The project of the text, which references without a path mean. */
  readonly project?: Source | undefined;
  /** Where repositories are, if names of commits become links. */
  readonly store?: Store | undefined;
  /** The group of the text, if it is of no project. */
  readonly group?: Source | undefined;
  /** The page of a wiki that the text is: its slug, and the path of the wiki. Default: it is none */
  readonly wikiPage?: { readonly slug: string; readonly wikiPath: string };
  /** Whether the texts are comments. Default: false. */
  readonly isComment?: boolean;
  /** Whether they are shown on our own pages, where no script loads pictures. Default: false. */
  readonly isPage?: boolean;
  /** Whether issues and merge requests that are closed or merged are said to be. Default: false. */
  readonly hasStates?: boolean;
}

/** The most projects that the references of one answer mean. */
const MAX_PROJECTS = 20;
/** Those of which more than a row is looked up: their labels, milestones and wikis. */
const MAX_PLACES = 5;

/** What references are links to, by {@link keyOf}. */
export type Links = Map<string, ReferenceLink>;

/** What a reference is found by: equal ones are links to the same. */
export const keyOf = (reference: TextReference) => {
  const { kind, project = "", name, format, byNumber, isWorkItem, isAbsolute, address } = reference;
  const sort = [kind, format === "+s", byNumber, isWorkItem, isAbsolute].map(String).join();
  const path = `${project.toLowerCase()} ${address?.commit ?? ""}`;
  return `${sort} ${path} ${kind === "@" ? name.toLowerCase() : name}`;
};

/** Looks up what references are links to, with a bounded number of statements; what the viewer may not see is none. */
export async function linksOf(
  rendering: Rendering,
  references: readonly TextReference[],
): Promise<Links> {
  const links: Links = new Map();
  if (references.length === 0) return links;
  const projects = await projectsOf(rendering, references);
  for (const type of NOTEABLE_TYPES) {
    await addNumbered(rendering, type, references, projects, links);
  }
  addProjects(rendering, references, projects, links);
  await addEpics(rendering, references, links);
  await addUsers(rendering, references, links);
  await addPlaced(rendering, references, links);
  await addCommits(rendering, references, links);
  return links;
}

interface Project {
  readonly id: number;
  readonly full_path: string;
  readonly name?: string;
}

/** The projects that references mean, by the path as it is written in them, in lower case; `""` for none. */
async function projectsOf(
  { db, viewer, project }: Rendering,
  references: readonly TextReference[],
): Promise<Map<string, Project>> {
  // Without a slash, it is the last part of a neighbour's path.
  const namespace =
    project?.kind === "project"
      ? project.fullPath.slice(0, project.fullPath.lastIndexOf("/") + 1)
      : undefined;
  const written = new Map(
    references.flatMap(({ project: path = "" }): [string, string][] => {
      const lower = path.toLowerCase();
      if (path === "" || path.includes("/")) return path === "" ? [] : [[lower, lower]];
      return namespace === undefined ? [] : [[lower, `${namespace.toLowerCase()}${lower}`]];
    }),
  );
  const paths = [...new Set(written.values())].slice(0, MAX_PROJECTS);
  const among = placeholders(paths);
  const visible = visibleProjects(viewer);
  const found =
    paths.length === 0
      ? []
      : await db.all<Project>(
          `select p.id, p.full_path, p.name from projects p where lower(p.full_path) in (${among.sql}) and ${visible.sql}`,
          [...among.values, ...visible.values],
        );
  const byPath = new Map(found.map((one) => [one.full_path.toLowerCase(), one]));
  const projects = new Map<string, Project>();
  for (const [short, path] of written) {
    const named = byPath.get(path);
    if (named) projects.set(short, named);
  }
  if (project) projects.set("", { id: project.id, full_path: project.fullPath });
  return projects;
}

/** Adds links to the issues, merge requests or snippets that references mean. */
async function addNumbered(
  rendering: Rendering,
  type: NoteableType,
  references: readonly TextReference[],
  projects: ReadonlyMap<string, Project>,
  links: Links,
): Promise<void> {
  const { db, viewer, view, project: own, hasStates } = rendering;
  const { table, alias, number, path, sigil, prefix, visible } = type;
  const some = references.filter(({ kind }) => kind === sigil);
  const wanted = [...projects].flatMap(([written, { id, full_path }]) => {
    const here = some.filter(({ project = "" }) => project.toLowerCase() === written);
    const numbers = here.map(({ name }) => Number(name));
    return here.length === 0 ? [] : [{ id, full_path, numbers, here }];
  });
  if (wanted.length === 0) return;
  const meant = any(
    wanted.map(({ id, numbers }) => {
      const among = placeholders(numbers);
      return {
        sql: `(${alias}.project_id = ? and ${alias}.${number} in (${among.sql}))`,
        values: [id, ...among.values],
      };
    }),
  );
  const { sql, values } = all([meant, visible(viewer)]);
  const isIssue = prefix === "issue";
  const found = await db.rows(
    `select ${alias}.project_id, ${alias}.${number}, ${alias}.title, ${alias}.id,
       ${prefix === "snippet" ? "'opened'" : `${alias}.state`},
       ${isIssue ? "i.issue_type" : "null"}, ${isIssue ? "i.moved_to_id" : "null"} from ${table} ${alias}
     join projects p on p.id = ${alias}.project_id where ${sql}`,
    values,
  );
  const ids = some.some(({ format }) => format === "+s") ? found.map((row) => row[3] as Value) : [];
  const summaries = await summariesOf(db, type, ids);
  for (const [projectId, count, title, id, stored, issueType, moved] of found) {
    const state = moved === null ? String(stored) : "moved";
    for (const { full_path, here } of wanted.filter(({ id }) => id === projectId)) {
      const text = `${pathFrom(own, full_path)}${sigil}${count}`;
      const about = state === "opened" ? text : `${text} - ${state}`;
      const withTitle = `${shortened(String(title))} (${about})`;
      for (const reference of here.filter(({ name }) => Number(name) === count)) {
        const word = reference.isWorkItem ? "work_item" : prefix;
        links.set(keyOf(reference), {
          href: `${view.base}/${full_path}/-/${reference.isWorkItem ? "work_items" : path}/${count}`,
          title: String(title),
          className: word,
          ...(prefix === "snippet" && { classes: " has-tooltip" }),
          ...{ text, withTitle },
          withSummary: [withTitle, ...(summaries.get(id as Value) ?? [])].join(" • "),
          state: hasStates && state !== "opened" ? state : undefined,
          data: {
            project: Number(projectId),
            [word.replace("_", "-")]: Number(id),
            ...(prefix !== "snippet" && { iid: Number(count), "project-path": full_path }),
            ...(isIssue && !reference.isWorkItem && { "issue-type": String(issueType) }),
            ...(reference.isWorkItem && {
              "work-item-type": String(issueType),
              "namespace-path": full_path,
            }),
          },
        });
      }
    }
  }
}

/** The most people that are named with a reference. */
const MOST_ASSIGNEES = 2;

/** Who is assigned to issues or merge requests, by their ids, and their milestones. */
async function summariesOf(
  db: Reader,
  { prefix, table, alias }: NoteableType,
  ids: readonly Value[],
): Promise<Map<Value, string[]>> {
  if (ids.length === 0 || prefix === "snippet") return new Map();
  const among = placeholders(ids);
  const people = await db.rows(
    `select a.${prefix}_id, u.name from ${prefix}_assignees a join users u on u.id = a.user_id
     where a.${prefix}_id in (${among.sql}) order by a.user_id`,
    among.values,
  );
  const milestones = await db.rows(
    `select ${alias}.id, m.title from ${table} ${alias} join milestones m on m.id = ${alias}.milestone_id
     where ${alias}.id in (${among.sql}) and ${NOT_DELETED_MILESTONE}`,
    among.values,
  );
  return new Map(
    ids.map((id) => {
      const names = people.flatMap(([of, name]) => (of === id ? [String(name)] : []));
      const shown = names.slice(0, MOST_ASSIGNEES).join(", ");
      const more = names.length > MOST_ASSIGNEES ? "+" : "";
      const until = milestones.flatMap(([of, title]) => (of === id ? [String(title)] : []));
      return [id, [names.length === 0 ? "Unassigned" : shown + more, ...until]];
    }),
  );
}

/** Adds links to projects, and to the people of the text's project: `@all`. */
function addProjects(
  { view, project }: Rendering,
  references: readonly TextReference[],
  projects: ReadonlyMap<string, Project>,
  links: Links,
): void {
  for (const reference of references) {
    const { kind, name, project: path = "" } = reference;
    const found = kind === ">" ? projects.get(path.toLowerCase()) : undefined;
    if (found) {
      links.set(keyOf(reference), {
        href: `${view.base}/${found.full_path}`,
        title: found.name ?? "",
        className: "project",
        classes: " has-tooltip",
        text: `${found.full_path}>`,
        data: { project: found.id },
      });
    }
    if (kind === "@" && name.toLowerCase() === "all" && project) {
      links.set(keyOf(reference), {
        href: `${view.base}/${project.fullPath}`,
        title: "All Project and Group Members",
        className: "project_member",
        classes: " js-user-link",
        data: { project: project.id },
      });
    }
  }
}

/** Adds links to the epics of groups. */
async function addEpics(
  { db, viewer, view, project, group, hasStates }: Rendering,
  references: readonly TextReference[],
  links: Links,
): Promise<void> {
  const own = group?.fullPath ?? project?.fullPath.replace(/\/[^/]*$/, "");
  const wanted = references.flatMap((reference) => {
    const path = reference.kind === "&" ? (reference.project ?? own) : undefined;
    return path ? [{ reference, path: path.toLowerCase(), number: Number(reference.name) }] : [];
  });
  if (wanted.length === 0) return;
  const paths = placeholders(
    [...new Set(wanted.map(({ path }) => `${path}/-`))].slice(0, MAX_PROJECTS),
  );
  const numbers = placeholders([...new Set(wanted.map(({ number }) => number))]);
  const seen = all([EPIC.projects(viewer), EPIC.visible(viewer)]);
  const found = await db.rows(
    `select i.id, i.iid, i.title, i.state, ${GROUP_PATH}, p.namespace_id from projects p join issues i on i.project_id = p.id
     where lower(p.full_path) in (${paths.sql}) and i.iid in (${numbers.sql}) and i.issue_type = 'epic' and ${seen.sql}`,
    [...paths.values, ...numbers.values, ...seen.values],
  );
  for (const { reference, path, number } of wanted) {
    const row = found.find(
      ([, iid, , , of]) => iid === number && String(of).toLowerCase() === path,
    );
    if (!row) continue;
    const [id, iid, title, state, of, groupId] = row;
    const text = `${of === own ? "" : of}&${iid}`;
    const about = state === "opened" ? text : `${text} - ${state}`;
    links.set(keyOf(reference), {
      href: `${view.base}/groups/${of}/-/epics/${iid}`,
      title: String(title),
      className: "epic",
      classes: " has-tooltip",
      ...{ text, withTitle: `${shortened(String(title))} (${about})` },
      state: hasStates && state !== "opened" ? String(state) : undefined,
      data: { group: Number(groupId), epic: Number(id), iid: Number(iid) },
    });
  }
}

/** Characters of a title that are shown with a reference. */
const TITLE = 50;

const shortened = (title: string) =>
  [...title].length > TITLE ? `${[...title].slice(0, TITLE - 3).join("")}...` : title;

/** How a text of one project names another one: not at all, by its last part within a namespace, or in full. */
function pathFrom(own: Source | undefined, path: string): string {
  if (own?.kind === "project" && own.fullPath === path) return "";
  const end = path.lastIndexOf("/");
  const isNear = own?.kind === "project" && own.fullPath.startsWith(path.slice(0, end + 1));
  const isBeside = isNear && !own.fullPath.slice(end + 1).includes("/");
  return isBeside ? path.slice(end + 1) : path;
}

/** Adds links to commits of projects whose code the viewer may read, and to ranges of them. */
async function addCommits(
  rendering: Rendering,
  references: readonly TextReference[],
  links: Links,
): Promise<void> {
  const { view, project } = rendering;
  const wanted = references.filter(
    ({ kind, address }) => kind === "commit" || kind === "range" || address?.commit,
  );
  const places = new Map<string, OpenRepository | undefined>();
  const known = new Map<string, { id: string; title: string } | undefined>();
  for (const reference of wanted) {
    const { kind, project: path = project?.fullPath, name, address } = reference;
    const change = links.get(keyOf(reference));
    if (path === undefined || (address?.commit && !change)) continue;
    const key = path.toLowerCase();
    if (!places.has(key) && places.size < MOST_REPOSITORIES) {
      places.set(key, await openedAt(rendering, path));
    }
    const opened = places.get(key);
    if (!opened) continue;
    const find = async (beginning: string) => {
      const at = `${key} ${beginning}`;
      if (!known.has(at) && known.size < MOST_COMMITS) {
        known.set(at, await commitAt(opened, beginning));
      }
      return known.get(at);
    };
    const { id, fullPath } = opened.project;
    const from = pathFrom(project, fullPath);
    const base = `${view.base}/${fullPath}/-`;
    const shown = from === "" ? "" : `${from}@`;
    const common = { classes: " has-tooltip" };
    if (address?.commit && change) {
      const shown = await find(address.commit);
      if (shown) links.set(keyOf(reference), { ...change, commit: shown.id.slice(0, 8) });
      continue;
    }
    const [first, dots, second] = name.split(/(\.{2,3})/) as [string, string?, string?];
    const commit = await find(first);
    const last = second === undefined ? undefined : await find(second);
    if (kind === "commit" && commit) {
      links.set(keyOf(reference), {
        ...common,
        href: `${base}/commit/${commit.id}`,
        title: commit.title,
        className: "commit",
        text: `${shown}${commit.id.slice(0, 8)}`,
        data: { project: id, commit: commit.id },
      });
    }
    if (kind === "range" && commit && last) {
      links.set(keyOf(reference), {
        ...common,
        href: `${base}/compare/${commit.id}${dots}${last.id}`,
        title: "",
        className: "commit_range",
        text: `${shown}${commit.id.slice(0, 8)}${dots}${last.id.slice(0, 8)}`,
        data: { project: id, "commit-range": `${commit.id}${dots}${last.id}` },
      });
    }
  }
}

/** The repository of a project, if the viewer may read its code. */
async function openedAt(
  { db, store, viewer, budget, project }: Rendering,
  path: string,
): Promise<OpenRepository | undefined> {
  if (!store) return undefined;
  const isOwn = path.toLowerCase() === project?.fullPath.toLowerCase();
  const source = isOwn ? project : await findVisible(db, "project", path, viewer);
  if (!source || !mayReadCode(source)) return undefined;
  return openRepository({ db, store, source, budget });
}

async function commitAt(opened: OpenRepository, beginning: string) {
  const number = await findCommit({ ...opened, refs: new Map() }, beginning);
  if (number === undefined) return undefined;
  const { id, message } = await readCommit(opened.repository, number);
  return { id, title: titleOf(message) };
}

/** Repositories that are opened for one answer. */
const MOST_REPOSITORIES = 5;
/** Commits that references of one answer are looked up by. */
const MOST_COMMITS = 50;

/** Adds links to users, and to groups that the viewer may see. */
async function addUsers(
  { db, view, viewer }: Rendering,
  references: readonly TextReference[],
  links: Links,
): Promise<void> {
  const names = references.flatMap(({ kind, name }) => (kind === "@" ? [name.toLowerCase()] : []));
  if (names.length === 0) return;
  const among = placeholders(names);
  const found = await db.all<{ id: number; username: string; name: string }>(
    `select id, username, name from users where lower(username) in (${among.sql}) and state = 'active'`,
    among.values,
  );
  for (const { id, username, name } of found) {
    const link = {
      href: `${view.base}/${username}`,
      title: name,
      className: "project_member",
      classes: " js-user-link",
      data: { user: id },
    };
    links.set(keyOf({ kind: "@", project: undefined, name: username }), link);
  }
  if (found.length === new Set(names).size) return;
  const visible = visibleGroups(viewer);
  const groups = await db.all<{ id: number; full_path: string; name: string }>(
    `select n.id, n.full_path, n.full_name as name from namespaces n
     where n.kind = 'group' and lower(n.full_path) in (${among.sql}) and ${visible.sql}`,
    [...among.values, ...visible.values],
  );
  for (const { id, full_path, name } of groups) {
    links.set(keyOf({ kind: "@", project: undefined, name: full_path }), {
      href: `${view.base}/groups/${full_path}`,
      title: name,
      className: "project_member",
      classes: " js-user-link",
      data: { group: id },
    });
  }
}

/** Adds links to the labels, milestones and pages of wikis of the text's project, or of others, and of the groups above. */
async function addPlaced(
  rendering: Rendering,
  references: readonly TextReference[],
  links: Links,
): Promise<void> {
  const { db, viewer, project, group } = rendering;
  const own = project ?? group;
  const wanted = references.filter(({ kind }) => "~%*".includes(kind));
  const paths = new Set(wanted.map(({ project: path }) => (path ?? own?.fullPath)?.toLowerCase()));
  for (const path of [...paths].slice(0, MAX_PLACES)) {
    if (path === undefined) continue;
    const isOwn = path === own?.fullPath.toLowerCase();
    const place = isOwn
      ? own
      : ((await findVisible(db, "project", path, viewer)) ??
        (await findVisible(db, "group", path.replace(/^groups\//, ""), viewer)));
    if (!place) continue;
    const here = wanted.filter(({ project: of }) => (of ?? own?.fullPath)?.toLowerCase() === path);
    await addPlanning(
      rendering,
      place,
      isOwn ? undefined : await nameOf(rendering, place),
      here,
      links,
    );
    await addPages(rendering, place, here, links);
  }
}

/** What a place is called in a text that is from elsewhere: a neighbour by its own name alone. */
async function nameOf({ db, project }: Rendering, place: Source): Promise<Named> {
  const isGroup = place.kind === "group";
  const [row] = await db.rows(
    isGroup
      ? "select full_name, full_name from namespaces where id = ?"
      : "select p.name, n.full_name || ' / ' || p.name from projects p join namespaces n on n.id = p.namespace_id where p.id = ?",
    [place.id],
  );
  const isNear = !isGroup && place.namespaceId === project?.namespaceId;
  return { name: String(row?.[isNear ? 0 : 1]), path: pathFrom(project, place.fullPath) };
}

interface Named {
  readonly name: string;
  readonly path: string;
}

/** What has labels and milestones: a project with neither of these has none. */
const PLANNED = ["issues", "merge_requests"] as const;

/** Adds links to the labels and milestones of a place. @param from what is said of it, if it is elsewhere */
async function addPlanning(
  { db, isPage, view }: Rendering,
  place: Source,
  from: Named | undefined,
  wanted: readonly TextReference[],
  links: Links,
): Promise<void> {
  if (!PLANNED.some((feature) => place.features.includes(feature))) return;
  const isGroup = place.kind === "group";
  const base = `${view.base}/${isGroup ? "groups/" : ""}${place.fullPath}/-`;
  const owner = isGroup ? { namespace: place.namespaceId } : { project: place.id };
  const find = async (kind: "~" | "%", select: string, living: string, numbers: boolean) => {
    const some = wanted.filter((one) => one.kind === kind && (one.byNumber === true) === numbers);
    if (some.length === 0) return [];
    const among = placeholders(some.map(({ name }) => (numbers ? Number(name) : name)));
    const column = numbers ? "x.iid" : kind === "~" ? "x.name" : "x.title";
    const { sql, values } = all([
      when(living),
      { sql: `${column} in (${among.sql})`, values: among.values },
      numbers ? { sql: `x.${place.column} = ?`, values: [place.id] } : inheritedBy("x", place),
    ]);
    const rows = await db.rows(`${select} where ${sql} order by x.id`, values);
    return some.flatMap((reference) => {
      const row = rows.findLast(([name, number]) =>
        numbers ? number === Number(reference.name) : name === reference.name,
      );
      return row ? [{ reference, row }] : [];
    });
  };
  const labels = "select x.name, x.id, x.description, x.color from labels x";
  for (const { reference, row } of await find("~", labels, onX(NOT_DELETED_LABEL), false)) {
    const [name, id, about, color] = row;
    links.set(keyOf(reference), {
      href: `${base}/issues?label_name=${encodeURIComponent(String(name)).replaceAll("%20", "+")}`,
      title: String(about ?? ""),
      className: "label",
      classes: " has-tooltip gl-link gl-label-link",
      text: String(name),
      from: reference.isAbsolute ? undefined : from?.name,
      data: { ...owner, label: Number(id) },
      // Our own pages are for everybody: GitLab's choice can't be read on red or green.
      label: {
        color: String(color),
        isLight: isPage ? isDark(String(color)) : contrast(String(color)) === LIGHT,
      },
    });
  }
  const milestones = `select x.title, x.iid, x.id, n.full_path from milestones x left join namespaces n on n.id = x.namespace_id`;
  for (const byNumber of [false, true]) {
    for (const found of await find("%", milestones, onX(NOT_DELETED_MILESTONE), byNumber)) {
      const [title, iid, id, group] = found.row;
      const at =
        group === null ? `${base}/milestones` : `${view.base}/groups/${group}/-/milestones`;
      links.set(keyOf(found.reference), {
        href: `${at}/${iid}`,
        title: String(title),
        className: "milestone",
        classes: " has-tooltip",
        text: `%${title}`,
        from: found.reference.isAbsolute ? undefined : from?.path,
        data: { ...owner, milestone: Number(id) },
      });
    }
  }
}

/** A condition on a row `l` of labels or `m` of milestones for a row `x`. */
const onX = (condition: string) => condition.replace(/^\w+\./, "x.");

/** Adds links to the pages of a place's wiki. */
async function addPages(
  { db, view }: Rendering,
  place: Source,
  wanted: readonly TextReference[],
  links: Links,
): Promise<void> {
  const pages = wanted.filter(({ kind }) => kind === "*");
  if (pages.length === 0 || !place.features.includes("wiki")) return;
  const isGroup = place.kind === "group";
  const id = isGroup ? await homeOf(db, place.fullPath) : place.id;
  const among = placeholders([...new Set(pages.map(({ name }) => name))]);
  const found = new Map(
    (await db.rows(
      `select slug, title from wiki_pages where project_id = ? and slug in (${among.sql})`,
      [id, ...among.values],
    )) as [string, string][],
  );
  for (const reference of pages) {
    const { name } = reference;
    const title = found.get(name);
    if (title === undefined) continue;
    const slug = name.split("/").map(encodeURIComponent).join("/");
    links.set(keyOf(reference), {
      href: `${view.base}/${isGroup ? "groups/" : ""}${place.fullPath}/-/wikis/${slug}`,
      title,
      className: "wiki_page",
      classes: " has-tooltip",
      text: title,
      data: { ...(isGroup ? { group: place.id } : { project: place.id }), "wiki-page": name },
    });
  }
}
