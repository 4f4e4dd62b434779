import { inheritedBy } from "../../core/access/owner.ts";
import type { Source } from "../../core/access/source.ts";
import {
  LIVING_LABEL,
  LIVING_MILESTONE,
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
import { all, among, any, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import type { NoteableType } from "../issuables/type.ts";
import { NOTEABLE_TYPES } from "../notes/noteables.ts";

/** For whom a text is rendered. */
export interface Rendering {
  readonly db: Reader;
  readonly viewer: Viewer;
  readonly view: View;
  readonly budget: Budget;
  /** The project of the text, which references without a path mean. */
  readonly project?: Source | undefined;
  /** Whether the texts are comments. Default: false. */
  readonly isComment?: boolean;
}

/** How many references of the texts of one answer become links. */
const MAX_REFERENCES = 200;
/** The most projects that the references of one text mean. */
const MAX_PROJECTS = 20;

type Links = Map<string, ReferenceLink>;

const keyOf = ({ kind, project = "", name }: TextReference) =>
  `${kind}${project.toLowerCase()} ${kind === "@" ? name.toLowerCase() : name}`;

/**
 * Renders Markdown texts of one project as HTML. What they refer to becomes a link if the viewer may see it, with a bounded
 * number of queries for all texts; what they may not see stays text, like what is not there. Texts beyond the request's
 * budget are shown as they are.
 */
export async function renderAll(rendering: Rendering, texts: readonly string[]): Promise<string[]> {
  const { budget } = rendering;
  const parsed: ParsedMarkdown[] = [];
  const references = new Map<string, TextReference>();
  for (const text of texts) {
    const read = await within(rendering, text);
    parsed.push(read);
    for (const reference of read.references) {
      if (references.size < MAX_REFERENCES) references.set(keyOf(reference), reference);
    }
    if (budget.isDue) await budget.pause();
  }
  const links = await linksOf(rendering, [...references.values()]);
  return parsed.map(({ html }) => html((reference) => links.get(keyOf(reference))));
}

async function within(
  { budget, view, project, isComment }: Rendering,
  text: string,
): Promise<ParsedMarkdown> {
  if (!budget.spend("markdown", text.length)) return asText(text);
  const surroundings = { base: view.base, projectPath: project?.fullPath, isComment };
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
  await addLabels(rendering, references, links);
  await addMilestones(rendering, references, links);
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
  const paths = references.flatMap(({ project }) => (project ? [project.toLowerCase()] : []));
  const among = placeholders([...new Set(paths)].slice(0, MAX_PROJECTS));
  const visible = visibleProjects(viewer);
  const found =
    paths.length === 0
      ? []
      : await db.all<Project>(
          `select p.id, p.full_path from projects p where lower(p.full_path) in (${among.sql}) and ${visible.sql}`,
          [...among.values, ...visible.values],
        );
  const projects = new Map(found.map((one) => [one.full_path.toLowerCase(), one]));
  if (project) projects.set("", { id: project.id, full_path: project.fullPath });
  return projects;
}

/** Adds links to the issues, merge requests or snippets that references mean. */
async function addNumbered(
  { db, viewer, view }: Rendering,
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
    `select ${alias}.project_id, ${alias}.${number}, ${alias}.title from ${table} ${alias}
     join projects p on p.id = ${alias}.project_id where ${sql}`,
    values,
  );
  for (const [projectId, count, title] of found) {
    for (const { written, full_path } of wanted.filter(({ id }) => id === projectId)) {
      links.set(keyOf({ kind: sigil, project: written, name: String(count) }), {
        href: `${view.base}/${full_path}/-/${path}/${count}`,
        title: String(title),
        className: prefix,
      });
    }
  }
}

/** Adds links to the users and groups that names mean. */
async function addUsers(
  { db, view, viewer }: Rendering,
  references: readonly TextReference[],
  links: Links,
): Promise<void> {
  const names = references.flatMap(({ kind, name }) => (kind === "@" ? [name.toLowerCase()] : []));
  if (names.length === 0) return;
  const among = placeholders(names);
  const visible = visibleGroups(viewer);
  const found = await db.rows(
    `select username, username, name from users where lower(username) in (${among.sql}) and state = 'active'
     union all
     select n.full_path, 'groups/' || n.full_path, n.full_name from namespaces n
     where lower(n.full_path) in (${among.sql}) and n.kind = 'group' and ${visible.sql}`,
    [...among.values, ...among.values, ...visible.values],
  );
  for (const [name, path, title] of found) {
    const link = {
      href: `${view.base}/${path}`,
      title: String(title),
      className: "project_member",
    };
    links.set(keyOf({ kind: "@", project: undefined, name: String(name) }), link);
  }
}

/** The names of references of a kind without a path. */
const namesOf = (references: readonly TextReference[], wanted: "~" | "%") =>
  references.flatMap(({ kind, project, name }) =>
    kind === wanted && project === undefined ? [name] : [],
  );

/** Adds links to the labels of the text's project, and of the groups above it. */
async function addLabels(
  { db, view, project }: Rendering,
  references: readonly TextReference[],
  links: Links,
): Promise<void> {
  const names = namesOf(references, "~");
  if (!project || names.length === 0) return;
  const { sql, values } = all([
    when(LIVING_LABEL),
    among("l.name", names),
    inheritedBy("l", project),
  ]);
  const found = await db.rows(
    `select l.name, l.description from labels l where ${sql} order by l.id`,
    values,
  );
  for (const [name, about] of found) {
    links.set(keyOf({ kind: "~", project: undefined, name: String(name) }), {
      href: `${view.base}/${project.fullPath}/-/issues?label_name=${encodeURIComponent(String(name))}`,
      title: String(about ?? ""),
      className: "label",
    });
  }
}

/**
 * Adds links to the milestones of the text's project, and of the groups above it, by their titles. Those of the project
 * are meant by their numbers, too.
 */
async function addMilestones(
  { db, view, project }: Rendering,
  references: readonly TextReference[],
  links: Links,
): Promise<void> {
  const names = namesOf(references, "%");
  if (!project || names.length === 0) return;
  const numbers = names.filter((name) => /^\d{1,9}$/.test(name)).map(Number);
  const { sql, values } = all([
    when(LIVING_MILESTONE),
    any([
      all([among("m.title", names), inheritedBy("m", project)]),
      all([among("m.iid", numbers), when("m.project_id = ?", project.id)]),
    ]),
  ]);
  const found = await db.rows(
    `select m.title, m.iid, mp.full_path, mn.full_path from milestones m
     left join projects mp on mp.id = m.project_id left join namespaces mn on mn.id = m.namespace_id
     where ${sql} order by m.id`,
    values,
  );
  for (const [title, iid, projectPath, groupPath] of found) {
    const owner = projectPath === null ? `groups/${groupPath}` : projectPath;
    const link = {
      href: `${view.base}/${owner}/-/milestones/${iid}`,
      title: String(title),
      className: "milestone",
      text: `%${title}`,
    };
    const meant = projectPath === null ? [title] : [iid, title];
    for (const name of meant) {
      links.set(keyOf({ kind: "%", project: undefined, name: String(name) }), link);
    }
  }
}
