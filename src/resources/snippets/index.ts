import type { Caller } from "../../core/access/caller.ts";
import type { Role } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import {
  openSnippets,
  PERSONAL_SNIPPET,
  readableSnippets,
  VISIBILITIES,
  VISIBILITY_NAMES,
  visibleSnippets,
} from "../../core/access/visibility.ts";
import { type ApiError, forbidden, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import {
  type Context,
  RawReply,
  type Resource,
  type RouteBuilder,
  routes,
} from "../../core/resource.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import type { Database, Reader } from "../../store/port.ts";
import * as settings from "../application-settings/queries.ts";
import { requireUnrestricted } from "../application-settings/rules.ts";
import * as events from "../events/record.ts";
import { noteUserAgent } from "../user-agents/queries.ts";
import { mayUpdateSnippet, SNIPPET_AUTHOR } from "./abilities.ts";
import { changedFiles, fileInput, newFiles } from "./files.ts";
import { BRANCH, snippet } from "./json.ts";
import * as snippets from "./queries.ts";
import { migrations } from "./table.ts";

const visibility = param.optional(param.choice(VISIBILITY_NAMES));
const created = {
  title: param.text(),
  ...fileInput,
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  visibility,
};
const changed = {
  title: param.optional(param.text()),
  ...fileInput,
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  visibility,
};
const CHANGEABLE = ["title", "file_name", "content", "files", "description", "visibility"] as const;
const one = { snippet_id: param.recordId() };

type In = Pick<Context, "caller" | "viewer"> & {
  db: Reader;
  /** The project; `undefined` for personal snippets. */
  source: Source | undefined;
};

/** Project or personal snippets: their routes, and the permissions there. */
interface SnippetKind {
  routes: RouteBuilder<"/snippets", Source | undefined>;
  /** Who may call the reading routes; {@link SnippetKind.readable} decides which snippets they see. */
  reading: { access?: "anyone" };
  /** Who may call the writing routes. */
  writing: { role?: Role };
  readable(context: In): Condition;
  /** The answer to those who may read a snippet, but not change it. */
  refused: () => ApiError;
}

const project = routes({ source: "project", path: "/snippets", features: ["snippets"] });

const projectSnippets: SnippetKind = {
  routes: project,
  reading: { access: "anyone" },
  writing: { role: SNIPPET_AUTHOR },
  readable: ({ source, viewer }) =>
    all([when("s.project_id = ?", (source as Source).id), visibleSnippets(viewer)]),
  refused: forbidden,
};

const own = routes({ path: "/snippets" });

const personalSnippets: SnippetKind = {
  routes: own,
  reading: {},
  writing: {},
  readable: ({ viewer }) => all([when(PERSONAL_SNIPPET), openSnippets(viewer)]),
  // As in GitLab, others get 404 even if they can read it.
  refused: () => notFound("Snippet"),
};

async function findSnippet(
  kind: SnippetKind,
  context: In & { input: { snippet_id: number } },
): Promise<snippets.Snippet> {
  const { db, input } = context;
  const found = await snippets.find(db, input.snippet_id, kind.readable(context));
  if (!found) throw notFound("Snippet");
  return found;
}

/** A file as it is, which browsers do not show. */
const rawFile = (content: string) =>
  new RawReply(
    200,
    { "content-type": "text/plain; charset=utf-8", "content-disposition": "attachment" },
    content,
  );

/** The routes of a single snippet, the same for both kinds. */
function routesOfOne(kind: SnippetKind) {
  const { get, put, del } = kind.routes;
  return [
    get("/:snippet_id", {
      summary: "Get a snippet",
      ...kind.reading,
      input: one,
      presenter: snippet,
      handle: async (context) =>
        snippets.row(context.db, context.presenter, (await findSnippet(kind, context)).id),
    }),
    get("/:snippet_id/raw", {
      answersWith: "text/plain",
      summary: "Get the raw content of a snippet",
      ...kind.reading,
      input: one,
      handle: async (context) => {
        const { id } = await findSnippet(kind, context);
        return rawFile((await snippets.contentOf(context.db, id)) as string);
      },
    }),
    get("/:snippet_id/files/:ref/:file_path/raw", {
      answersWith: "text/plain",
      summary: "Get the raw content of one of a snippet's files",
      ...kind.reading,
      input: { ...one, ref: param.text(), file_path: param.text({ max: 4096 }) },
      handle: async (context) => {
        const { db, input } = context;
        const { id } = await findSnippet(kind, context);
        if (![BRANCH, "HEAD"].includes(input.ref)) throw notFound("Reference");
        const content = await snippets.contentOf(db, id, input.file_path);
        if (content === undefined) throw notFound("File");
        return rawFile(content);
      },
    }),
    put("/:snippet_id", {
      summary: "Change a snippet",
      ...kind.writing,
      input: { ...one, ...changed },
      atLeastOne: CHANGEABLE,
      presenter: snippet,
      handle: async (context) => {
        const { db, presenter, input, now } = context;
        const found = await findSnippet(kind, context);
        if (!mayUpdateSnippet(found, context)) throw kind.refused();
        const { title, description } = input;
        const files = await changedFiles(input, () => snippets.filesOf(db, found.id));
        const visibility = input.visibility && VISIBILITIES[input.visibility];
        await requireUnrestricted(db, context.caller, visibility);
        await snippets.change(db, found.id, { title, description, visibility, files }, now);
        return snippets.row(db, presenter, found.id);
      },
    }),
    del("/:snippet_id", {
      summary: "Delete a snippet with its notes",
      ...kind.writing,
      input: one,
      handle: async (context) => {
        const found = await findSnippet(kind, context);
        if (!mayUpdateSnippet(found, context)) throw kind.refused();
        context.requireUnmodified(found.updated_at);
        await events.forget(context.db, { type: "snippet", id: found.id });
        await snippets.remove(context.db, found.id);
        return undefined;
      },
    }),
  ];
}

/** Adds a snippet. @param projectId `null` for a personal snippet */
async function create(
  context: Pick<Context, "presenter" | "now" | "request"> & {
    db: Database;
    caller: Caller;
    input: param.Input<typeof created>;
  },
  projectId: number | null,
) {
  const { db, presenter, input, caller, now } = context;
  const { title, description } = input;
  const files = newFiles(input);
  const visibility = input.visibility
    ? VISIBILITIES[input.visibility]
    : (await settings.find(db)).default_snippet_visibility;
  await requireUnrestricted(db, caller, visibility);
  const snippet = {
    title,
    description,
    files,
    visibility,
    author_id: caller.id,
    project_id: projectId,
  };
  const id = await snippets.insert(db, snippet, now);
  await noteUserAgent(context, { snippet_id: id });
  return snippets.row(db, presenter, id);
}

/** When snippets of a list were created. */
const span = {
  created_after: param.optional(param.looseInstant()),
  created_before: param.optional(param.looseInstant()),
};

/** Personal and project snippets. */
export const snippetResource: Resource = {
  name: "Snippets",
  migrations,
  routes: [
    own.list("", {
      summary: "List the caller's personal snippets",
      input: span,
      presenter: snippet,
      handle: ({ db, presenter, page, caller, input }) => {
        const own = all([when(PERSONAL_SNIPPET), when("s.author_id = ?", caller.id)]);
        return snippets.list(db, presenter, page, own, input);
      },
    }),
    own.list("/public", {
      summary: "List all public personal snippets",
      input: span,
      presenter: snippet,
      handle: ({ db, presenter, page, input }) => {
        const visible = when("s.visibility = ?", VISIBILITIES.public);
        return snippets.list(db, presenter, page, all([when(PERSONAL_SNIPPET), visible]), input);
      },
    }),
    own.list("/all", {
      summary: "List all snippets that the caller may read, of people and of projects",
      input: span,
      presenter: snippet,
      handle: ({ db, presenter, page, viewer, input }) =>
        snippets.list(db, presenter, page, readableSnippets(viewer), input),
    }),
    own.post("", {
      summary: "Create a personal snippet",
      input: created,
      presenter: snippet,
      handle: (context) => create(context, null),
    }),
    ...routesOfOne(personalSnippets),

    project.list("", {
      summary: "List the snippets of a project",
      access: "anyone",
      presenter: snippet,
      handle: (context) =>
        snippets.list(
          context.db,
          context.presenter,
          context.page,
          projectSnippets.readable(context),
        ),
    }),
    project.post("", {
      summary: "Create a snippet in a project",
      role: "reporter",
      input: created,
      presenter: snippet,
      handle: (context) => create(context, context.source.id),
    }),
    ...routesOfOne(projectSnippets),
  ],
};
