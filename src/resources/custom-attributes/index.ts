import { invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, type Route, routes } from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import { attributeFields } from "./json.ts";
import * as queries from "./queries.ts";
import { migrations } from "./table.ts";

const attribute = presenter(attributeFields);

const key = { key: param.anyText({ max: 255 }) };
const value = { value: param.anyText({ max: 255 }) };
const userId = { user_id: param.recordId() };

type Named = Pick<Context, "presenter"> & { input: { key: string } };

/** @throws ApiError 404 */
async function rowOf(
  { db, presenter, input }: Named & { db: Reader },
  owner: queries.AttributeOwner,
) {
  const row = await queries.row(db, presenter, owner, input.key);
  if (!row) throw notFound();
  return row;
}

async function set(
  context: Named & Pick<Context, "now"> & { db: Database; input: { key: string; value: string } },
  owner: queries.AttributeOwner,
) {
  const isSet = await queries.set(context.db, owner, context.input, context.now);
  if (!isSet) throw invalid({ key: ["is one too many"] });
  return rowOf(context, owner);
}

async function remove(
  { db, input }: { db: Database; input: { key: string } },
  owner: queries.AttributeOwner,
) {
  if (!(await queries.remove(db, owner, input.key))) throw notFound();
  return undefined;
}

const ofUsers = routes({ path: "/users/:user_id/custom_attributes" });

/** @throws ApiError 404 */
const ownerOf = async (context: { db: Reader; input: { user_id: number } }) => {
  const id = context.input.user_id;
  if (!(await queries.isUser(context.db, id))) throw notFound("User");
  return { column: "user_id", id } as const;
};

function routesOf(source: "group" | "project"): Route[] {
  const { del, get, list, put } = routes({ source, path: "/custom_attributes" });
  const admin = { access: "admin", concurrency: "alone" } as const;
  return [
    list("", {
      summary: `List the custom attributes of a ${source}`,
      access: "admin",
      presenter: attribute,
      handle: ({ db, presenter, page, source: owner }) => queries.list(db, presenter, page, owner),
    }),
    get("/:key", {
      summary: `Get a custom attribute of a ${source}`,
      access: "admin",
      input: key,
      presenter: attribute,
      handle: (context) => rowOf(context, context.source),
    }),
    put("/:key", {
      summary: `Set a custom attribute of a ${source}`,
      ...admin,
      input: { ...key, ...value },
      presenter: attribute,
      handle: (context) => set(context, context.source),
    }),
    del("/:key", {
      summary: `Remove a custom attribute of a ${source}`,
      ...admin,
      input: key,
      handle: (context) => remove(context, context.source),
    }),
  ];
}

/** Texts that administrators give to users, groups and projects. */
export const customAttributeResource: Resource = {
  name: "Custom attributes",
  migrations,
  routes: [
    ofUsers.list("", {
      summary: "List the custom attributes of a user",
      access: "admin",
      input: userId,
      presenter: attribute,
      handle: async (context) =>
        queries.list(context.db, context.presenter, context.page, await ownerOf(context)),
    }),
    ofUsers.get("/:key", {
      summary: "Get a custom attribute of a user",
      access: "admin",
      input: { ...userId, ...key },
      presenter: attribute,
      handle: async (context) => rowOf(context, await ownerOf(context)),
    }),
    ofUsers.put("/:key", {
      summary: "Set a custom attribute of a user",
      access: "admin",
      input: { ...userId, ...key, ...value },
      presenter: attribute,
      handle: async (context) => set(context, await ownerOf(context)),
    }),
    ofUsers.del("/:key", {
      summary: "Remove a custom attribute of a user",
      access: "admin",
      input: { ...userId, ...key },
      handle: async (context) => remove(context, await ownerOf(context)),
    }),
    ...routesOf("group"),
    ...routesOf("project"),
  ],
};
