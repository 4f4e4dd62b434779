import { actorOf } from "../accounts/audit.ts";
import { notFound } from "../core/errors.ts";
import * as is from "../core/input.ts";
import type { Shape } from "../core/present.ts";
import * as show from "../core/present.ts";
import { del, get, post, type Resource, under } from "../core/resource.ts";
import type { Reader } from "../store/port.ts";
import * as applications from "./applications.ts";
import { readLines, readScopes } from "./rules.ts";

const fields = {
  id: show.integer("a.id"),
  application_id: show.text("a.uid"),
  application_name: show.text("a.name"),
  callback_url: show.text("a.redirect_uris"),
  confidential: show.flag("a.confidential"),
  trusted: show.flag("a.trusted"),
  scopes: show.derived(["a.scopes"], "array of string", ([scopes]) => String(scopes).split(" ")),
};
const application = show.shape(fields);

/** The only answers with the secret; public applications have none. */
const withSecret = show.shape({ ...fields, secret: show.embedded("secret", "string", "null") });

const applicationId = { application_id: is.recordId() };

async function find({ db, input }: { db: Reader; input: { application_id: number } }) {
  const found = await applications.find(db, input.application_id);
  if (!found) throw notFound("Application");
  return found;
}

/** Applications, for administrators: GitLab's fields plus `trusted` and `scopes`. */
export const applicationApi: Resource = {
  name: "Applications",
  migrations: [],
  routes: under("/applications", [
    get("", {
      summary: "List the applications",
      access: "admin",
      present: application,
      handle: ({ db, shape, page }) => applications.list(db, shape, page),
    }),
    post("", {
      summary: "Register an application; only this answer has its secret",
      access: "admin",
      input: {
        name: is.text(),
        /** One per line. */
        redirect_uri: is.text({ max: is.LONG_TEXT }),
        /** Separated by spaces. */
        scopes: is.text(),
        confidential: is.optional(is.boolean()),
        trusted: is.optional(is.boolean()),
      },
      present: withSecret,
      handle: async (context) => {
        const { db, shape, input, now } = context;
        const { confidential = true, trusted = false } = input;
        const data = {
          userId: null,
          name: input.name,
          redirectUris: readLines(input.redirect_uri),
          scopes: readScopes(input.scopes),
          confidential,
          trusted,
        };
        const { id, secret } = await applications.register(db, actorOf(context), data, now);
        return rowWithSecret(db, shape, id, secret);
      },
    }),
    post("/:application_id/renew-secret", {
      summary: "Renew an application's secret; only this answer has it",
      access: "admin",
      input: applicationId,
      present: withSecret,
      handle: async (context) => {
        const { db, shape, now } = context;
        const found = await find(context);
        const secret = await applications.renewSecret(db, actorOf(context), found, now);
        return rowWithSecret(db, shape, found.id, secret);
      },
    }),
    del("/:application_id", {
      summary: "Delete an application, and revoke all access granted to it",
      access: "admin",
      input: applicationId,
      handle: async (context) => {
        const found = await find(context);
        context.requireUnmodified(found.updated_at);
        await applications.remove(context.db, actorOf(context), found, context.now);
        return undefined;
      },
    }),
  ]),
};

async function rowWithSecret(db: Reader, shape: Shape, id: number, secret: string | null) {
  const row = await applications.row(db, shape, id);
  row[shape.at("secret")] = JSON.stringify(secret);
  return row;
}
