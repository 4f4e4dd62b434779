import * as audit from "../../audit/log.ts";
import { ROLES } from "../../core/access/roles.ts";
import { badRequest, forbidden, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, type Route, routes, type SourceKind } from "../../core/resource.ts";
import { userSummaryFields } from "../users/json.ts";
import { isMember } from "./abilities.ts";
import { addMember, changeOf } from "./changes.ts";
import { tell } from "./followers.ts";
import { member } from "./json.ts";
import * as members from "./queries.ts";
import * as requests from "./requests.ts";

const request = presenter({
  ...userSummaryFields,
  requested_at: field.instant("ar.created_at"),
});

const id = { user_id: param.recordId() };

/** Who asks for access, as webhooks are told of it. */
const wishOf = (user_id: number) => ({ user_id, access_level: 0 });

function routesOf(source: SourceKind): Route[] {
  const { del, list, post, put } = routes({ source, path: "/access_requests" });
  const role = source === "group" ? "owner" : "maintainer";
  return [
    list("", {
      summary: `List the requests for access to a ${source}`,
      role,
      presenter: request,
      handle: ({ db, presenter, page, source }) => requests.list(db, presenter, page, source),
    }),
    post("", {
      summary: `Ask for access to a ${source}`,
      presenter: request,
      whenArchived: "allow",
      handle: async (context) => {
        const { db, presenter, source, caller, now } = context;
        const hasAccess = caller.admin
          ? (await members.findBest(db, source, caller.id)) !== undefined
          : isMember(source);
        if (hasAccess || !(await requests.isEnabled(db, source))) throw forbidden();
        if (!(await requests.insert(db, source, caller.id, now))) {
          throw badRequest("Access has already been requested");
        }
        const target = source.fullPath;
        await audit.log(changeOf(context), "access requested", { userId: caller.id, target });
        await tell(context, source, "request", wishOf(caller.id), caller.id);
        return requests.row(db, presenter, source, caller.id);
      },
    }),
    put("/:user_id/approve", {
      summary: "Make a user a member who asked for access",
      role,
      input: { ...id, access_level: param.optional(param.integer()) },
      status: 201,
      presenter: member,
      handle: async (context) => {
        const { db, presenter, source, input } = context;
        const { user_id, access_level = ROLES.developer } = input;
        if (!(await requests.row(db, request, source, user_id))) throw notFound();
        const added = await addMember(changeOf(context), user_id, { access_level });
        return members.row(db, presenter, added);
      },
    }),
    del("/:user_id", {
      summary: "Refuse a request for access; users may withdraw their own",
      role: ({ caller, input }) => (caller?.id === input.user_id ? undefined : role),
      input: id,
      whenArchived: "allow",
      handle: async (context) => {
        const { db, source, caller, input } = context;
        if (!(await requests.remove(db, source, input.user_id))) throw notFound();
        const target = source.fullPath;
        await audit.log(changeOf(context), "access refused", { userId: input.user_id, target });
        await tell(context, source, "deny", wishOf(input.user_id), caller.id);
        return undefined;
      },
    }),
  ];
}

/** Requests of users to become members of groups and projects. */
export const accessRequestResource: Resource = {
  name: "Access requests",
  migrations: [],
  routes: [...routesOf("group"), ...routesOf("project")],
};
