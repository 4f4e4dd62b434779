import { inheritedBy } from "../../core/access/owner.ts";
import { findVisible, mayReadCode, type Source } from "../../core/access/source.ts";
import {
  NOT_DELETED_LABEL,
  NOT_DELETED_MILESTONE,
  type Viewer,
  visibleGroups,
  visibleProjects,
} from "../../core/access/visibility.ts";
import type { View } from "../../core/field.ts";
import {
  asText,
  type ParsedMarkdown,
  parseMarkdown,
  type ReferenceLink,
  type TextReference,
} from "../../core/markdown.ts";
import { readCommit, titleOf } from "../../git/commits.ts";
import { findCommit } from "../../git/revisions.ts";
import { all, any, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Store } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import type { NoteableType } from "../issuables/type.ts";
import { contrast, LIGHT } from "../labels/json.ts";
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
  /** Whether the texts are comments. Default: false. */
  readonly isComment?: boolean;
}

/** How many references of the texts of one answer become links. */
const MAX_REFERENCES = 200;
/** The most projects that the references of one text mean. */
const MAX_PROJECTS = 20;

type Links = Map<string, ReferenceLink>;

const keyOf = ({ kind, project = "", name, byNumber }: TextReference) => {
  const number = byNumber ? "#" : "";
  return `${kind}${project.toLowerCase()} ${number}${kind === "@" ? name.toLowerCase() : name}`;
};

/** Texts with links that may be relative: only then the default branch is looked up. */
const LINKS = /\]\(|\]:/;

/**
 * Renders Markdown texts of one project as HTML. What they refer to becomes a link if the viewer may see it, with a bounded
 * number of queries for all texts; what they may not see stays text, like what is not there. Texts beyond the request's
 * budget are shown as they are.
 */
export async function renderAll(rendering: Rendering, texts: readonly string[]): Promise<string[]> {
  const { budget, db, project } = rendering;
  const parsed: ParsedMarkdown[] = [];
  const branch =
    project && texts.some((text) => LINKS.test(text)) ? await branchOf(db, project) : undefined;
  const references = new Map<string, TextReference>();
  for (const text of texts) {
    const read = await within(rendering, text, branch);
    parsed.push(read);
    for (const reference of read.references) {
      if (references.size < MAX_REFERENCES) references.set(keyOf(reference), reference);
    }
    if (budget.isDue) await budget.pause();
  }
  const links = await linksOf(rendering, [...references.values()]);
  return parsed.map(({ html }) => html((reference) => links.get(keyOf(reference))));
}

async function branchOf(db: Reader, { id }: Source): Promise<string | undefined> {
  const [row] = await db.rows("select default_branch from projects where id = ?", [id]);
  return (row?.[0] as string | null) ?? undefined;
}

async function within(
  { budget, view, project, isComment }: Rendering,
  text: string,
  branch: string | undefined,
): Promise<ParsedMarkdown> {
  if (!budget.spend("markdown", text.length)) return asText(text);
  const projectPath = project?.fullPath;
  const surroundings = { base: view.base, projectPath, branch, isComment, isGitLabs: true };
  const parsed = await parseMarkdown(text, surroundings);
  return budget.spend("html", parsed.length) ? parsed : asText(text);
}

async function linksOf(rendering: Rendering, references: readonly TextReference[]): Promise<Links> {
  const links: Links = new Map();
  if (references.length === 0) return links;
  const projects = await projectsOf(rendering, references);
  for (const type of NOTEABLE_TYPES) {
    await addNumbered(rendering, type, references, projects, links);
  }
  await addUsers(rendering, references, links);
  await addPlanning(rendering, references, links);
  await addCommits(rendering, references, links);
  return links;
}

interface Project {
  readonly id: number;
  readonly full_path: string;
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
          `select p.id, p.full_path from projects p where lower(p.full_path) in (${among.sql}) and ${visible.sql}`,
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
  { db, viewer, view, project: own }: Rendering,
  { table, alias, number, path, sigil, prefix, visible }: NoteableType,
  references: readonly TextReference[],
  projects: ReadonlyMap<string, Project>,
  links: Links,
): Promise<void> {
  const wanted = [...projects].flatMap(([written, { id, full_path }]) => {
    const numbers = references.flatMap(({ kind, project = "", name }) =>
      kind === sigil && project.toLowerCase() === written ? [Number(name)] : [],
    );
    return numbers.length === 0 ? [] : [{ written, id, full_path, numbers }];
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
  const found = await db.rows(
    `select ${alias}.project_id, ${alias}.${number}, ${alias}.title, ${alias}.id,
       ${prefix === "snippet" ? "'opened'" : `${alias}.state`} from ${table} ${alias}
     join projects p on p.id = ${alias}.project_id where ${sql}`,
    values,
  );
  for (const [projectId, count, title, id, state] of found) {
    for (const { written, full_path } of wanted.filter(({ id }) => id === projectId)) {
      const text = `${pathFrom(own, full_path)}${sigil}${count}`;
      const about = state === "opened" ? text : `${text} - ${state}`;
      links.set(keyOf({ kind: sigil as "#", project: written, name: String(count) }), {
        href: `${view.base}/${full_path}/-/${path}/${count}`,
        title: String(title),
        className: prefix,
        ...(prefix === "snippet" && { classes: " has-tooltip" }),
        text,
        withTitle: `${shortened(String(title))} (${about})`,
        data: {
          project: Number(projectId),
          [prefix.replace("_", "-")]: Number(id),
          ...(prefix !== "snippet" && { iid: Number(count), "project-path": full_path }),
          ...(prefix === "issue" && { "issue-type": "issue" }),
        },
      });
    }
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
  const wanted = references.filter(({ kind }) => kind === "commit" || kind === "range");
  const places = new Map<string, OpenRepository | undefined>();
  const known = new Map<string, { id: string; title: string } | undefined>();
  for (const reference of wanted) {
    const { kind, project: path = project?.fullPath, name } = reference;
    if (path === undefined) continue;
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
    `select n.id, n.full_path, n.name from namespaces n
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

/** Adds links to the labels and milestones of the text's project, and of the groups above it. */
async function addPlanning(
  { db, view, project }: Rendering,
  references: readonly TextReference[],
  links: Links,
): Promise<void> {
  if (!project) return;
  const base = `${view.base}/${project.fullPath}/-`;
  const isOwn = (path: string | undefined) =>
    path === undefined || path.toLowerCase() === project.fullPath.toLowerCase();
  const wanted = references.filter(({ kind, project: path }) => "~%".includes(kind) && isOwn(path));
  const find = async (kind: "~" | "%", select: string, living: string, numbers: boolean) => {
    const some = wanted.filter((one) => one.kind === kind && (one.byNumber === true) === numbers);
    if (some.length === 0) return [];
    const among = placeholders(some.map(({ name }) => (numbers ? Number(name) : name)));
    const column = numbers ? "x.iid" : kind === "~" ? "x.name" : "x.title";
    const { sql, values } = all([
      when(living),
      { sql: `${column} in (${among.sql})`, values: among.values },
      numbers ? { sql: "x.project_id = ?", values: [project.id] } : inheritedBy("x", project),
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
      data: { project: project.id, label: Number(id) },
      label: { color: String(color), isLight: contrast(String(color)) === LIGHT },
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
        data: { project: project.id, milestone: Number(id) },
      });
    }
  }
}

/** A condition on a row `l` of labels or `m` of milestones for a row `x`. */
const onX = (condition: string) => condition.replace(/^\w+\./, "x.");
