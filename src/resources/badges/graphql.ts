import { inheritedBy } from "../../core/access/owner.ts";
import { visibleOwner, visibleProjects } from "../../core/access/visibility.ts";
import {
  arg,
  connection,
  enumeration,
  type GraphContext,
  GraphError,
  type GraphqlModule,
  gid,
  loaded,
  mutation,
  notAvailable,
  one,
  property,
  required,
  routeOf,
  rowType,
  string,
  word,
} from "../../graphql/declare.ts";
import { all, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { badgeResource, renderedUrl } from "./index.ts";
import { PLACEHOLDERS } from "./queries.ts";

const KIND = enumeration("BadgeKind", "What a badge belongs to.", ["GROUP", "PROJECT"]);

/** The URLs of badges as a project shows them: the one that is named, or the badge's own. */
async function renderedUrls(
  column: "link_url" | "image_url",
  ids: readonly Value[],
  { db, viewer, view }: GraphContext,
  projectPath: string | undefined,
): Promise<Map<Value, string>> {
  const among = placeholders(ids);
  const visible = visibleProjects(viewer);
  const [project, values]: [string, Value[]] =
    projectPath === undefined
      ? ["p.id = b.project_id", []]
      : [`lower(p.full_path) = lower(?) and ${visible.sql}`, [projectPath, ...visible.values]];
  const found = await db.rows(
    `select b.id, b.${column}, ${Object.values(PLACEHOLDERS).join(", ")}
     from badges b left join projects p on ${project} where b.id in (${among.sql})`,
    [...values, ...among.values],
  );
  return new Map(found.map(([id, ...row]) => [id as Value, renderedUrl(row, view)]));
}

const rendered = (column: "link_url" | "image_url") =>
  required(
    loaded(
      "String",
      (ids, context, { projectPath }) => renderedUrls(column, ids, context, projectPath),
      {
        args: {
          projectPath: arg.about(
            "The project that shows it. Default: the badge's own; placeholders of groups' badges stay.",
            arg.id,
          ),
        },
      },
    ),
  );

const badge = rowType("Badge", {
  about: "A badge of a group or project.",
  from: "badges b",
  key: "b.id",
  visible: (viewer) => visibleOwner(viewer, "b"),
  fields: {
    id: gid("Badge", "b.id"),
    name: string("b.name"),
    linkUrl: required(string("b.link_url")),
    imageUrl: required(string("b.image_url")),
    renderedLinkUrl: rendered("link_url"),
    renderedImageUrl: rendered("image_url"),
    kind: required(word(KIND, "case when b.project_id is null then 'GROUP' else 'PROJECT' end")),
    group: one("Group", "b.namespace_id"),
    project: one("Project", "b.project_id"),
  },
});

const OLDEST = [{ sql: "b.created_at" }, { sql: "b.id" }];

const routesOf = (source: "groups" | "projects") => ({
  create: routeOf(badgeResource, `POST /${source}/:id/badges`),
  change: routeOf(badgeResource, `PUT /${source}/:id/badges/:badge_id`),
  remove: routeOf(badgeResource, `DELETE /${source}/:id/badges/:badge_id`),
});
const OF_GROUP = routesOf("groups");
const OF_PROJECT = routesOf("projects");

interface Owner {
  namespace_id: number | null;
  project_id: number | null;
}

/** Where a badge is: the route that changes it checks what the caller may do there. */
async function placeOf(db: Reader, id: number) {
  const found = await db.one<Owner>("select namespace_id, project_id from badges where id = ?", [
    id,
  ]);
  if (!found) throw notAvailable();
  const { namespace_id, project_id } = found;
  const routes = project_id === null ? OF_GROUP : OF_PROJECT;
  return { routes, at: { id: project_id ?? namespace_id, badge_id: id } };
}

/** Badges. */
export const graphqlModule: GraphqlModule = {
  types: [badge],
  extend: {
    Group: {
      badges: connection("Badge", {
        args: { name: arg.string },
        query: ({ name }) => ({
          parent: "b.namespace_id",
          where: when("b.name = ?", name),
          order: OLDEST,
        }),
      }),
    },
    Project: {
      badges: connection("Badge", {
        args: { name: arg.string },
        needs: ["p.id", "p.namespace_id"],
        query: ({ name }, _, [id, namespaceId]) => {
          const project = {
            column: "project_id",
            id: id as number,
            namespaceId: namespaceId as number,
          } as const;
          const where = all([inheritedBy("b", project), when("b.name = ?", name)]);
          return { where, order: OLDEST };
        },
      }),
    },
  },
  mutations: {
    badgeCreate: mutation({
      about: "Add a badge to a group or project.",
      input: {
        groupPath: arg.id,
        projectPath: arg.id,
        linkUrl: arg.required(arg.string),
        imageUrl: arg.required(arg.string),
        name: arg.string,
      },
      payload: { badge: property("Badge") },
      run: async ({ groupPath, projectPath, linkUrl, imageUrl, name }, { call }) => {
        if ((groupPath === undefined) === (projectPath === undefined)) {
          throw new GraphError("Exactly one of group_path or project_path arguments is required");
        }
        const { create } = groupPath === undefined ? OF_PROJECT : OF_GROUP;
        const { id } = await call(create, {
          id: groupPath ?? projectPath,
          link_url: linkUrl,
          image_url: imageUrl,
          name,
        });
        return { badge: id };
      },
    }),
    badgeUpdate: mutation({
      about: "Change a badge.",
      input: {
        id: arg.required(arg.gid("Badge")),
        linkUrl: arg.string,
        imageUrl: arg.string,
        name: arg.clearable(arg.string),
      },
      payload: { badge: property("Badge") },
      run: async ({ id, linkUrl, imageUrl, name }, { call, db }) => {
        const { routes, at } = await placeOf(db, id);
        await call(routes.change, { ...at, link_url: linkUrl, image_url: imageUrl, name });
        return { badge: id };
      },
    }),
    badgeDestroy: mutation({
      about: "Remove a badge.",
      input: { id: arg.required(arg.gid("Badge")) },
      payload: { badge: property("Badge") },
      run: async ({ id }, { call, db }) => {
        const { routes, at } = await placeOf(db, id);
        await call(routes.remove, at);
        return {};
      },
    }),
  },
};
