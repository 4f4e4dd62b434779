import { ApiError, invalid, notFound } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, Json, type Resource, routes, type SourceKind } from "../../core/resource.ts";
import { webAddressProblem } from "../../core/web-addresses.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { domainOf } from "../sites/place.ts";
import * as badges from "./queries.ts";
import { migrations } from "./table.ts";

/**
 * A badge's URL with its placeholders filled in. Those that are unknown or have no value stay as they are, and all do
 * without a project.
 *
 * @param values the URL and, in the order of `PLACEHOLDERS`, what the project that shows it has, or nulls
 */
export function renderedUrl([url, ...values]: readonly unknown[], view: View): string {
  const known = new Map<string, unknown>(
    Object.keys(badges.PLACEHOLDERS).map((name, at) => [name, values[at] ?? undefined]),
  );
  if (known.get("project_id") === undefined) return String(url);
  known.set("gitlab_server", view.host);
  if (view.sites) known.set("gitlab_pages_domain", domainOf(view.sites) ?? view.host);
  return String(url).replace(/%\{(\w+)\}/g, (placeholder, name: string) =>
    String(known.get(name) ?? placeholder),
  );
}

const rendered = (column: string) =>
  field.derived([column, ...Object.values(badges.PLACEHOLDERS)], "string", renderedUrl);

const badge = presenter({
  id: field.integer("b.id"),
  name: field.text("b.name"),
  link_url: field.text("b.link_url"),
  image_url: field.text("b.image_url"),
  rendered_link_url: rendered("b.link_url"),
  rendered_image_url: rendered("b.image_url"),
  kind: field.text("case when b.project_id is null then 'group' else 'project' end"),
});

type Urls = { link_url?: string | undefined; image_url?: string | undefined };

/** Checks that URLs are valid and http or https, once their placeholders are filled in. */
function requireUrls(input: Urls): void {
  const errors: Record<string, string[]> = {};
  for (const name of ["link_url", "image_url"] as const) {
    const url = input[name];
    if (url === undefined) continue;
    const filled = url.replace(/%\{\w+\}/g, "x");
    const problem = url.trim() === "" ? "must be a valid URL" : webAddressProblem(filled);
    if (problem !== undefined) errors[name] = [problem];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

const urls = { link_url: param.anyText({ max: 2048 }), image_url: param.anyText({ max: 2048 }) };
const id = { badge_id: param.recordId() };

type In = Pick<Context, "source" | "viewer" | "presenter"> & { db: Reader };

async function rowOf({ db, source, viewer, presenter }: In, badgeId: number) {
  const row = await badges.row(
    db,
    presenter,
    source,
    await badges.projectFor(db, source, viewer),
    badgeId,
  );
  if (!row) throw notFound();
  return row;
}

/** Finds a badge to change. Projects show their groups' badges too, but cannot change them. */
async function findOwn(
  { db, source, input }: Pick<In, "db" | "source"> & { input: { badge_id: number } },
  verb: "edit" | "delete",
) {
  const found = await badges.find(db, source, input.badge_id);
  if (!found) throw notFound();
  if (source.kind === "project" && found.namespace_id !== null) {
    throw new ApiError(403, { error: `To ${verb} a Group badge please use the Group endpoint` });
  }
  return found;
}

function routesOf(source: SourceKind) {
  const { del, get, list, post, put } = routes({ source, path: "/badges" });
  const role = source === "group" ? "owner" : "maintainer";
  return [
    list("", {
      summary: `List the badges of a ${source}`,
      access: "anyone",
      input: { name: param.optional(param.anyText()) },
      presenter: badge,
      handle: async ({ db, source, viewer, presenter, page, input }) => {
        const projectId = await badges.projectFor(db, source, viewer);
        return badges.list(db, presenter, page, source, projectId, input.name);
      },
    }),
    get("/render", {
      summary: "Preview a badge with its placeholders filled in",
      role,
      input: urls,
      examples: [
        {
          link_url: "https://ci.example.com/%{project_path}",
          image_url: "https://ci.example.com/%{project_path}.svg",
          rendered_link_url: "https://ci.example.com/acme/site",
          rendered_image_url: "https://ci.example.com/acme/site.svg",
        },
      ],
      handle: async ({ db, source, viewer, view, input }) => {
        requireUrls(input);
        const projectId = await badges.projectFor(db, source, viewer);
        const values = await badges.placeholderValues(db, projectId);
        return new Json({
          link_url: input.link_url,
          image_url: input.image_url,
          rendered_link_url: renderedUrl([input.link_url, ...values], view),
          rendered_image_url: renderedUrl([input.image_url, ...values], view),
        });
      },
    }),
    get("/:badge_id", {
      summary: "Get a badge",
      access: "anyone",
      input: id,
      presenter: badge,
      handle: (context) => rowOf(context, context.input.badge_id),
    }),
    post("", {
      summary: "Add a badge",
      role,
      input: { ...urls, name: param.clearable(param.text()) },
      presenter: badge,
      handle: async (context) => {
        const { db, source, input, now } = context;
        requireUrls(input);
        return rowOf(context, await badges.insert(db, source, input, now));
      },
    }),
    put("/:badge_id", {
      summary: "Change a badge",
      role,
      input: {
        ...id,
        link_url: param.optional(urls.link_url),
        image_url: param.optional(urls.image_url),
        name: param.clearable(param.text()),
      },
      presenter: badge,
      handle: async (context) => {
        const { db, input, now } = context;
        const found = await findOwn(context, "edit");
        requireUrls(input);
        const { link_url, image_url, name } = input;
        await updateRow(db, "badges", found.id, { link_url, image_url, name }, now);
        return rowOf(context, found.id);
      },
    }),
    del("/:badge_id", {
      summary: "Remove a badge",
      role,
      input: id,
      handle: async (context) => {
        const found = await findOwn(context, "delete");
        context.requireUnmodified(found.updated_at);
        await badges.remove(context.db, found.id);
        return undefined;
      },
    }),
  ];
}

/** Badges of groups and projects. */
export const badgeResource: Resource = {
  name: "Badges",
  migrations,
  routes: [...routesOf("group"), ...routesOf("project")],
};
