import type { Ability } from "../../core/access/abilities.ts";
import { type Source, withSources } from "../../core/access/source.ts";
import { readableSnippets, VISIBILITIES, VISIBILITY_WORDS } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { escaped } from "../../core/markup.ts";
import {
  type Args,
  always,
  arg,
  computed,
  connection,
  constant,
  enumeration,
  type GraphContext,
  GraphError,
  type GraphqlModule,
  inputType,
  mutation,
  notAvailable,
  one,
  property,
  required,
  routeOf,
  rowType,
  string,
  time,
  userPermissions,
  type Values,
  word,
} from "../../graphql/declare.ts";
import { all, among, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { mayCreateNote } from "../issuables/abilities.ts";
import { VISIBILITY } from "../namespaces/graphql.ts";
import { mayUpdateSnippet } from "./abilities.ts";
import { nextName } from "./files.ts";
import { snippetResource } from "./index.ts";
import { rawPath, snippetFields } from "./json.ts";

const rows = {
  from: "snippets s left join projects p on p.id = s.project_id",
  key: "s.id",
  visible: readableSnippets,
};

/** The files of snippets `s`: the first is in their own rows. */
const FILES = `(select id as snippet_id, -id as id, file_name as path, content from snippets
  union all select snippet_id, id, path, content from snippet_files) f`;

const blob = rowType("SnippetBlob", {
  about: "A file of a snippet.",
  from: `${FILES} join snippets s on s.id = f.snippet_id left join projects p on p.id = s.project_id`,
  key: "f.id",
  visible: readableSnippets,
  fields: {
    name: string("f.path"),
    path: string("f.path"),
    rawPath: required(string(field.derived(["s.id", "p.full_path", "f.path"], "string", rawPath))),
    plainData: string(
      field.derived(
        ["f.content"],
        "string",
        ([content]) => `<pre><code>${escaped(String(content))}</code></pre>`,
      ),
    ),
    rawPlainData: string("f.content"),
    richData: constant("String", null),
    size: required(
      computed(
        "Int",
        ["f.content"],
        ([content]) => new TextEncoder().encode(String(content)).length,
      ),
    ),
    binary: constant("Boolean!", false),
    mode: constant("String", "100644"),
  },
});

/** What permissions depend on, by id. */
async function subjectsOf(ids: readonly Value[], { db, viewer }: GraphContext) {
  const among = placeholders(ids);
  const found = await db.all<{ id: number; author_id: number; project_id: number | null }>(
    `select id, author_id, project_id from snippets where id in (${among.sql})`,
    among.values,
  );
  return (await withSources(db, found, viewer)).map((row) => ({ ...row, discussion_locked: 0 }));
}

type Subject = Awaited<ReturnType<typeof subjectsOf>>[number];

// Personal ones are not discussed.
const mayWrite: Ability<Subject, Source | undefined> = (snippet, { source, caller }) =>
  source !== undefined && mayCreateNote(snippet, { source, caller });
const permissions = userPermissions<Subject>("SnippetPermissions", "a snippet", {
  readSnippet: always,
  updateSnippet: mayUpdateSnippet,
  adminSnippet: mayUpdateSnippet,
  createNote: mayWrite,
  awardEmoji: mayWrite,
});

const CLASSES = ["Snippet", "PersonalSnippet", "ProjectSnippet"];
const snippetId = arg.gid("Snippet", CLASSES);

const snippet = rowType("Snippet", {
  about: "A snippet of a project or, without one, of its author.",
  ...rows,
  implements: ["Awardable"],
  fields: {
    id: required(
      computed(
        "SnippetID",
        ["s.id", "s.project_id"],
        ([id, project]) =>
          `gid://gitlab/${project === null ? "PersonalSnippet" : "ProjectSnippet"}/${id}`,
      ),
    ),
    title: required(string("s.title")),
    description: string("s.description"),
    fileName: string("s.file_name"),
    visibilityLevel: required(word(VISIBILITY, snippetFields.visibility)),
    author: one("UserCore", "s.author_id"),
    project: one("Project", "s.project_id"),
    createdAt: required(time("s.created_at")),
    updatedAt: required(time("s.updated_at")),
    webUrl: required(string(snippetFields.web_url)),
    rawUrl: required(string(snippetFields.raw_url)),
    httpUrlToRepo: constant("String", null),
    sshUrlToRepo: constant("String", null),
    hidden: constant("Boolean!", false),
    userPermissions: permissions(subjectsOf),
    blobs: connection("SnippetBlob", {
      isSmall: true,
      args: { paths: arg.list(arg.string) },
      query: ({ paths }) => ({
        parent: "f.snippet_id",
        where: among("f.path", paths),
        order: [{ sql: "f.path" }, { sql: "f.id" }],
      }),
    }),
  },
});

const TYPE = enumeration<string>("TypeEnum", "Whose snippets are listed.", {
  personal: "s.project_id is null",
  project: "s.project_id is not null",
});
const SCOPE = enumeration<number>("VisibilityScopesEnum", "Who may see a snippet.", {
  ...VISIBILITIES,
});

const filters = {
  ids: arg.list(snippetId),
  visibility: arg.choice(SCOPE),
} satisfies Args;
const typed = { ...filters, type: arg.choice(TYPE) } satisfies Args;

const conditionOf = (
  { ids, visibility, type }: Partial<Values<typeof typed>>,
  more: readonly (Condition | undefined)[] = [],
) =>
  all([
    among("s.id", ids),
    when("s.visibility = ?", visibility),
    type === undefined ? undefined : when(type),
    ...more,
  ]);

const NEWEST = [{ sql: "s.id", descending: true }];

const ROUTES = {
  personal: {
    create: routeOf(snippetResource, "POST /snippets"),
    change: routeOf(snippetResource, "PUT /snippets/:snippet_id"),
    remove: routeOf(snippetResource, "DELETE /snippets/:snippet_id"),
  },
  project: {
    create: routeOf(snippetResource, "POST /projects/:id/snippets"),
    change: routeOf(snippetResource, "PUT /projects/:id/snippets/:snippet_id"),
    remove: routeOf(snippetResource, "DELETE /projects/:id/snippets/:snippet_id"),
  },
};

/** A snippet's routes, which check what the caller may do. */
async function storedWith(db: Reader, id: number) {
  const [found] = await db.rows("select project_id from snippets where id = ?", [id]);
  if (!found) throw notAvailable();
  const [projectId = null] = found;
  return projectId === null
    ? { routes: ROUTES.personal, at: { snippet_id: id } }
    : { routes: ROUTES.project, at: { id: projectId as number, snippet_id: id } };
}

const ACTION = enumeration("SnippetBlobActionEnum", "What is done with a file.", [
  "create",
  "update",
  "delete",
  "move",
]);
const BLOB_ACTION = inputType("SnippetBlobActionInputType", "A change of a snippet's file.", {
  action: arg.required(arg.choice(ACTION)),
  filePath: arg.required(arg.string),
  previousPath: arg.about("The path of a file that is moved.", arg.string),
  content: arg.string,
});
type BlobAction = Values<(typeof BLOB_ACTION)["fields"]>;

/** Changes of files as the routes take them. */
const filesOf = (actions: readonly BlobAction[]) =>
  actions.map(({ action, filePath, previousPath, content }) => ({
    action,
    file_path: filePath,
    previous_path: previousPath,
    content,
  }));

/** The attributes of new files; their names are GitLab's if none are given. */
function created(actions: readonly BlobAction[] = []) {
  const names = actions.map(({ filePath }) => filePath);
  const files = filesOf(actions);
  for (const file of files) {
    if (file.file_path !== "") continue;
    file.file_path = nextName(names);
    names.push(file.file_path);
  }
  return { files };
}

const wordOf = (level: number | undefined) =>
  level === undefined ? undefined : VISIBILITY_WORDS[level];

/** Snippets. */
export const graphqlModule: GraphqlModule = {
  types: [snippet, blob],
  extend: {
    Project: {
      snippets: connection("Snippet", {
        args: filters,
        query: (args) => ({ parent: "s.project_id", where: conditionOf(args), order: NEWEST }),
      }),
    },
    User: {
      snippets: connection("Snippet", {
        args: typed,
        query: (args) => ({ parent: "s.author_id", where: conditionOf(args), order: NEWEST }),
      }),
    },
    Query: {
      snippets: connection("Snippet", {
        args: {
          ...typed,
          authorId: arg.gid("User"),
          projectId: arg.gid("Project"),
          explore: arg.about("Personal snippets that are not private.", arg.boolean),
        },
        query: ({ authorId, projectId, explore, ...args }) => {
          if (authorId !== undefined && projectId !== undefined) {
            throw new GraphError(
              "Only one of [author_id, project_id] arguments is allowed at the same time.",
            );
          }
          const where = conditionOf(args, [
            when("s.author_id = ?", authorId),
            when("s.project_id = ?", projectId),
            explore
              ? when("s.project_id is null and s.visibility > ?", VISIBILITIES.private)
              : undefined,
          ]);
          return { where, order: NEWEST };
        },
      }),
    },
  },
  mutations: {
    createSnippet: mutation({
      about: "Create a snippet in a project or, without one, a personal one.",
      input: {
        title: arg.required(arg.string),
        visibilityLevel: arg.required(arg.choice(VISIBILITY)),
        description: arg.string,
        projectPath: arg.id,
        blobActions: arg.about("Its files.", arg.list(arg.input(BLOB_ACTION))),
      },
      payload: { snippet: property("Snippet") },
      run: async ({ title, visibilityLevel, description, projectPath, blobActions }, { call }) => {
        const { create } = projectPath === undefined ? ROUTES.personal : ROUTES.project;
        const { id } = await call(create, {
          ...(projectPath !== undefined && { id: projectPath }),
          title,
          description,
          visibility: wordOf(visibilityLevel),
          ...created(blobActions),
        });
        return { snippet: id };
      },
    }),
    updateSnippet: mutation({
      about: "Change a snippet.",
      input: {
        id: arg.required(snippetId),
        title: arg.string,
        visibilityLevel: arg.choice(VISIBILITY),
        description: arg.clearable(arg.string),
        blobActions: arg.about("The changes of its files.", arg.list(arg.input(BLOB_ACTION))),
      },
      payload: { snippet: property("Snippet") },
      run: async ({ id, title, visibilityLevel, description, blobActions }, { call, db }) => {
        const { routes, at } = await storedWith(db, id);
        await call(routes.change, {
          ...at,
          title,
          description,
          visibility: wordOf(visibilityLevel),
          files: blobActions && filesOf(blobActions),
        });
        return { snippet: id };
      },
    }),
    destroySnippet: mutation({
      about: "Remove a snippet.",
      input: { id: arg.required(snippetId) },
      payload: { snippet: property("Snippet") },
      run: async ({ id }, { call, db }) => {
        const { routes, at } = await storedWith(db, id);
        await call(routes.remove, at);
        return {};
      },
    }),
  },
};
