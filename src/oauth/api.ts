import { actorOf } from "../audit/log.ts";
import { notFound } from "../core/errors.ts";
import * as field from "../core/field.ts";
import * as param from "../core/input.ts";
import type { Presenter } from "../core/presenter.ts";
import { presenter } from "../core/presenter.ts";
import { type Resource, routes } from "../core/resource.ts";
import type { Reader } from "../store/port.ts";
import * as applications from "./applications.ts";
import { readLines, readScopes } from "./rules.ts";

const fields = {
  id: field.integer("a.id"),
  application_id: field.text("a.uid"),
  application_name: field.text("a.name"),
  callback_url: field.text("a.redirect_uris"),
  confidential: field.flag("a.confidential"),
  trusted: field.flag("a.trusted"),
  scopes: field.derived(["a.scopes"], "array of string", ([scopes]) => String(scopes).split(" ")),
};
const application = presenter(fields);

/** The only answers with the secret; public applications have none. */
const withSecret = presenter({ ...fields, secret: field.embedded("secret", "string", "null") });

const applicationId = { application_id: param.recordId() };

async function find({ db, input }: { db: Reader; input: { application_id: number } }) {
  const found = await applications.find(db, input.application_id);
  if (!found) throw notFound("Application");
  return found;
}

const { del, list, post } = routes({ path: "/applications" });

/** Applications, for administrators: GitLab's fields plus `trusted` and `scopes`. */
export const applicationApi: Resource = {
  name: "Applications",
  migrations: [],
  routes: [
    list("", {
      summary: "List the applications",
      access: "admin",
      presenter: application,
      handle: ({ db, presenter, page }) => applications.list(db, presenter, page),
    }),
    post("", {
      summary: "Register an application; only this answer has its secret",
      access: "admin",
      input: {
        name: param.text(),
        /** One per line. */
        redirect_uri: param.text({ max: param.LONG_TEXT }),
        /** Separated by spaces. */
        scopes: param.text(),
        confidential: param.optional(param.boolean()),
        trusted: param.optional(param.boolean()),
      },
      presenter: withSecret,
      handle: async (context) => {
        const { db, presenter, input, now } = context;
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
        return rowWithSecret(db, presenter, id, secret);
      },
    }),
    post("/:application_id/renew-secret", {
      summary: "Renew an application's secret; only this answer has it",
      access: "admin",
      input: applicationId,
      presenter: withSecret,
      handle: async (context) => {
        const { db, presenter, now } = context;
        const found = await find(context);
        const secret = await applications.renewSecret(db, actorOf(context), found, now);
        return rowWithSecret(db, presenter, found.id, secret);
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
  ],
};

async function rowWithSecret(db: Reader, presenter: Presenter, id: number, secret: string | null) {
  const row = await applications.row(db, presenter, id);
  row[presenter.at("secret")] = JSON.stringify(secret);
  return row;
}
