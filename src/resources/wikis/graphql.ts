import { usesFeature, visibleProjects } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  arg,
  computed,
  connection,
  enumeration,
  first,
  type GraphqlModule,
  loaded,
  mutation,
  notAvailable,
  one,
  property,
  required,
  routeOf,
  rowType,
  string,
  time,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { all, among, when } from "../../store/conditions.ts";
import type { Reader, Value } from "../../store/port.ts";
import { NAMESPACE_ID } from "../namespaces/graphql.ts";
import { FILTER } from "../notes/graphql.ts";
import { subscribePage, wikiResource } from "./index.ts";
import { FORMATS, type Format } from "./rules.ts";

const FORMAT = enumeration<Format>(
  "WikiPageFormat",
  "How a wiki page is written.",
  Object.fromEntries(FORMATS.map((format) => [format.toUpperCase(), format])),
);

const permissions = valueType("WikiPagePermissions", "What the caller may do with a wiki page.", {
  readWikiPage: required(property("Boolean")),
  createNote: required(property("Boolean")),
  markNoteAsInternal: required(property("Boolean")),
});
const PERMISSIONS = { readWikiPage: true, createNote: false, markNoteAsInternal: false };

const page = rowType("WikiPage", {
  about: "A page of a project's wiki.",
  from: "wiki_pages w join projects p on p.id = w.project_id",
  key: "w.id",
  visible: (viewer) => all([visibleProjects(viewer), usesFeature(viewer, "wiki")]),
  fields: {
    id: required(
      computed("WikiPageMetaID", ["w.id"], ([id]) => `gid://gitlab/WikiPage::Meta/${id}`),
    ),
    title: required(string("w.title")),
    name: string("w.title"),
    slug: required(string("w.slug")),
    format: required(
      word(
        FORMAT,
        field.derived(["w.format"], "string", ([format]) => String(format).toUpperCase()),
      ),
    ),
    content: string("w.content"),
    webUrl: required(
      string(field.url(["p.full_path", "w.slug"], (path, slug) => `/${path}/-/wikis/${slug}`)),
    ),
    project: required(one("Project", "w.project_id")),
    createdAt: required(time("w.created_at")),
    updatedAt: required(time("w.updated_at")),
    subscribed: required(
      loaded(
        "Boolean",
        async (ids, { db, caller }) => {
          const theirs = all([when("user_id = ?", caller?.id ?? 0), among("page_id", ids)]);
          const found = await db.rows(
            `select page_id from wiki_page_subscriptions where ${theirs.sql}`,
            theirs.values,
          );
          return new Map(found.map(([id]) => [id as Value, true]));
        },
        { empty: false },
      ),
    ),
    userPermissions: required(computed(permissions, [], () => PERMISSIONS)),
    // Nobody can write notes on wiki pages.
    notes: required(
      connection("Note", { args: { filter: arg.choice(FILTER) }, query: () => ({ where: NONE }) }),
    ),
    discussions: required(connection("Discussion", { query: () => ({ where: NONE }) })),
  },
});

const NONE = when("1 = 0");

const CREATE = routeOf(wikiResource, "POST /projects/:id/wikis");
const CHANGE = routeOf(wikiResource, "PUT /projects/:id/wikis/:slug*");
const REMOVE = routeOf(wikiResource, "DELETE /projects/:id/wikis/:slug*");

const pageId = arg.gid("WikiPageMeta", ["WikiPage::Meta"]);

interface Place {
  project_id: number;
  slug: string;
}

/** Where a page is: the route that changes it checks what the caller may do there. */
async function placeOf(db: Reader, pageId: number) {
  const found = await db.one<Place>("select project_id, slug from wiki_pages where id = ?", [
    pageId,
  ]);
  if (!found) throw notAvailable();
  return { id: found.project_id, slug: found.slug };
}

/** Wiki pages. */
export const graphqlModule: GraphqlModule = {
  types: [page],
  extend: {
    Project: {
      wikiPages: connection("WikiPage", {
        query: () => ({
          parent: "w.project_id",
          order: [{ sql: "w.title", isText: true }, { sql: "w.id" }],
        }),
      }),
      wikiPage: first("WikiPage", {
        args: { slug: arg.required(arg.string) },
        query: ({ slug }) => ({ parent: "w.project_id", where: when("w.slug = ?", slug) }),
      }),
    },
    Query: {
      wikiPage: first("WikiPage", {
        args: {
          slug: arg.string,
          projectId: arg.gid("Project"),
          namespaceId: arg.about("Pages of groups are in the REST API only.", NAMESPACE_ID),
        },
        query: ({ slug, projectId }) => ({
          where: when("w.slug = ? and w.project_id = ?", slug, projectId) ?? NONE,
        }),
      }),
    },
  },
  mutations: {
    wikiPageCreate: mutation({
      about: "Create a wiki page.",
      input: {
        projectPath: arg.required(arg.id),
        title: arg.required(arg.string),
        content: arg.required(arg.string),
        format: arg.choice(FORMAT),
      },
      payload: { wikiPage: property("WikiPage") },
      run: async ({ projectPath, ...page }, { call, db }) => {
        const { slug } = await call(CREATE, { id: projectPath, ...page });
        const found = await db.one<{ id: number }>(
          `select w.id from wiki_pages w join projects p on p.id = w.project_id
           where lower(p.full_path) = lower(?) and w.slug = ?`,
          [projectPath, slug as string],
        );
        return { wikiPage: found?.id };
      },
    }),
    wikiPageUpdate: mutation({
      about: "Change or rename a wiki page.",
      input: {
        id: arg.required(pageId),
        title: arg.string,
        content: arg.string,
        format: arg.choice(FORMAT),
      },
      payload: { wikiPage: property("WikiPage") },
      run: async ({ id, ...changes }, { call, db }) => {
        await call(CHANGE, { ...changes, ...(await placeOf(db, id)) });
        return { wikiPage: id };
      },
    }),
    wikiPageSubscribe: mutation({
      about: "Subscribe to a wiki page, or unsubscribe.",
      input: { id: arg.required(pageId), subscribed: arg.required(arg.boolean) },
      payload: { wikiPage: property("WikiPage") },
      run: async ({ id, subscribed }, { call, db }) => {
        await call(subscribePage, { ...(await placeOf(db, id)), subscribed });
        return { wikiPage: id };
      },
    }),
    wikiPageDestroy: mutation({
      about: "Remove a wiki page; the repository keeps its versions.",
      input: { id: arg.required(pageId) },
      payload: { wikiPage: property("WikiPage") },
      run: async ({ id }, { call, db }) => {
        await call(REMOVE, await placeOf(db, id));
        return {};
      },
    }),
  },
};
