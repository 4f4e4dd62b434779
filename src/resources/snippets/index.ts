import { ROLES, type Role } from "../../core/access/roles.ts";
import { requireRole, type Source } from "../../core/access/source.ts";
import { VISIBILITIES, VISIBILITY_NAMES, VISIBILITY_WORDS } from "../../core/access/visibility.ts";
import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import {
  type Context,
  RawReply,
  type Resource,
  type RouteBuilder,
  routes,
} from "../../core/resource.ts";
import { all, type Condition } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { userSummaryFields } from "../users/json.ts";
import * as snippets from "./queries.ts";
import { migrations } from "./table.ts";

const webPath = (id: string, project: string) =>
  project === "null" ? `/snippets/${id}` : `/${project}/snippets/${id}`;

const snippet = presenter({
  id: field.integer("s.id"),
  title: field.text("s.title"),
  file_name: field.text("s.file_name"),
  description: field.text("s.description"),
  visibility: field.word("s.visibility", VISIBILITY_WORDS),
  author: field.nested(userSummaryFields),
  updated_at: field.instant("s.updated_at"),
  created_at: field.instant("s.created_at"),
  project_id: field.integer("s.project_id"),
  web_url: field.url(["s.id", "p.full_path"], webPath),
  raw_url: field.url(["s.id", "p.full_path"], (id, project) => `${webPath(id, project)}/raw`),
});

const visibility = param.optional(param.choice(VISIBILITY_NAMES));
const content = param.text({ max: param.LONG_TEXT });
const created = {
  title: param.text(),
  file_name: param.text(),
  content,
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  visibility,
};
const changed = {
  title: param.optional(param.text()),
  file_name: param.optional(param.text()),
  content: param.optional(content),
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  visibility,
};
const CHANGEABLE = ["title", "file_name", "content", "description", "visibility"] as const;
const one = { snippet_id: param.recordId() };

type Asking = Pick<Context, "caller" | "viewer"> & {
  db: Reader;
  /** The project, if its snippets are asked for. */
  source: Source | undefined;
};

/** The routes of project or personal snippets, and the permissions there. */
interface Place {
  routes: RouteBuilder<"/snippets", Source | undefined>;
  /** Who may call the reading routes; {@link Place.readable} decides which snippets they see. */
  reading: { access?: "anyone" };
  /** Who may call the writing routes. */
  writing: { role?: Role };
  readable(context: Asking): Condition;
  /** Checks that the caller may change a snippet that they can read. @throws ApiError 403 or 404 */
  requireChangeable(context: Asking, found: snippets.Snippet): void;
}

const project = routes({ source: "project", path: "/snippets", features: ["snippets"] });

const ofProjects: Place = {
  routes: project,
  reading: { access: "anyone" },
  writing: { role: "guest" },
  readable: ({ source, viewer }) => {
    const { id, level } = source as Source;
    return all([
      { sql: "s.project_id = ?", values: [id] },
      snippets.visibleSnippets(viewer, level >= ROLES.guest),
    ]);
  },
  requireChangeable: ({ source, caller }, found) => {
    if (found.author_id !== caller?.id) requireRole(source as Source, "maintainer");
  },
};

const own = routes({ path: "/snippets" });

const personal: Place = {
  routes: own,
  reading: {},
  writing: {},
  readable: ({ viewer }) =>
    all([{ sql: "s.project_id is null", values: [] }, snippets.visibleSnippets(viewer, false)]),
  // As in GitLab, others get 404 even if they can read it.
  requireChangeable: ({ caller }, found) => {
    if (found.author_id !== caller?.id && !caller?.admin) throw notFound("Snippet");
  },
};

async function findSnippet(
  place: Place,
  context: Asking & { input: { snippet_id: number } },
): Promise<snippets.Snippet> {
  const { db, input } = context;
  const found = await snippets.find(db, input.snippet_id, place.readable(context));
  if (!found) throw notFound("Snippet");
  return found;
}

/** The routes of a single snippet, the same for both kinds. */
function routesOfOne(place: Place) {
  const { get, put, del } = place.routes;
  return [
    get("/:snippet_id", {
      summary: "Get a snippet",
      ...place.reading,
      input: one,
      presenter: snippet,
      handle: async (context) =>
        snippets.row(context.db, context.presenter, (await findSnippet(place, context)).id),
    }),
    get("/:snippet_id/raw", {
      summary: "Get the raw content of a snippet",
      ...place.reading,
      input: one,
      handle: async (context) => {
        const found = await findSnippet(place, context);
        const headers = {
          "content-type": "text/plain; charset=utf-8",
          "content-disposition": "attachment",
        };
        return new RawReply(200, headers, found.content);
      },
    }),
    put("/:snippet_id", {
      summary: "Change a snippet",
      ...place.writing,
      input: { ...one, ...changed },
      atLeastOne: CHANGEABLE,
      presenter: snippet,
      handle: async (context) => {
        const { db, presenter, input, now } = context;
        const found = await findSnippet(place, context);
        place.requireChangeable(context, found);
        const { title, file_name, content, description } = input;
        const level = input.visibility && VISIBILITIES[input.visibility];
        const changes = { title, file_name, content, description, visibility: level };
        await updateRow(db, "snippets", found.id, changes, now);
        return snippets.row(db, presenter, found.id);
      },
    }),
    del("/:snippet_id", {
      summary: "Delete a snippet",
      ...place.writing,
      input: one,
      handle: async (context) => {
        const found = await findSnippet(place, context);
        place.requireChangeable(context, found);
        context.requireUnmodified(found.updated_at);
        await snippets.remove(context.db, found.id);
        return undefined;
      },
    }),
  ];
}

/** Personal and project snippets. */
export const snippetResource: Resource = {
  name: "Snippets",
  migrations,
  routes: [
    own.list("", {
      summary: "List the caller's personal snippets",
      presenter: snippet,
      handle: ({ db, presenter, page, caller }) => {
        const theirs = {
          sql: "s.project_id is null and s.author_id = ?",
          values: [caller.id],
        };
        return snippets.list(db, presenter, page, theirs);
      },
    }),
    own.list("/public", {
      summary: "List all public personal snippets",
      presenter: snippet,
      handle: ({ db, presenter, page }) => {
        const open = {
          sql: "s.project_id is null and s.visibility = ?",
          values: [VISIBILITIES.public],
        };
        return snippets.list(db, presenter, page, open);
      },
    }),
    own.post("", {
      summary: "Create a personal snippet",
      input: created,
      presenter: snippet,
      handle: async ({ db, presenter, input, caller, now }) => {
        const level = VISIBILITIES[input.visibility ?? "internal"];
        const made = {
          ...input,
          visibility: level,
          author_id: caller.id,
          project_id: null,
        };
        return snippets.row(db, presenter, await snippets.insert(db, made, now));
      },
    }),
    ...routesOfOne(personal),

    project.list("", {
      summary: "List the snippets of a project",
      access: "anyone",
      presenter: snippet,
      handle: (context) =>
        snippets.list(context.db, context.presenter, context.page, ofProjects.readable(context)),
    }),
    project.post("", {
      summary: "Create a snippet in a project",
      role: "reporter",
      input: created,
      presenter: snippet,
      handle: async ({ db, presenter, input, source, caller, now }) => {
        const level = VISIBILITIES[input.visibility ?? "internal"];
        const made = {
          ...input,
          visibility: level,
          author_id: caller.id,
          project_id: source.id,
        };
        return snippets.row(db, presenter, await snippets.insert(db, made, now));
      },
    }),
    ...routesOfOne(ofProjects),
  ],
};
