import { actorOf } from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import { notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, Json, routes } from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import * as users from "../users/queries.ts";
import * as changes from "./changes.ts";
import * as sourceUsers from "./queries.ts";

// GitLab decides about single placeholders in GraphQL only: mutations perform these routes, which have no address.

const { post, put } = routes({ source: "group", path: "/import_source_users" });
const owners = { role: "owner" } as const;
const one = { source_user_id: param.recordId() };

type Deciding = Pick<Context, "source"> & { db: Reader; input: { source_user_id: number } };

/** @throws ApiError 404 */
async function found({ db, source, input }: Deciding): Promise<sourceUsers.SourceUser> {
  const known = await sourceUsers.find(db, input.source_user_id);
  if (known?.namespace_id !== source.id) throw notFound();
  return known;
}

/** How a caller reassigns: without asking the user, if the settings let administrators do so. */
export async function reassigningOf(
  context: Pick<Context, "source" | "request" | "now"> & { db: Database; caller: Caller },
): Promise<changes.Reassigning> {
  const { db, source: group, caller, now } = context;
  const { skipsConfirmation } = await changes.rulesOf(db);
  return { db, by: actorOf(context), group, isFinal: caller.admin && skipsConfirmation, now };
}

const step = (path: string, summary: string, name: changes.Step) =>
  put(`/:source_user_id/${path}`, {
    ...owners,
    summary,
    input: one,
    handle: async (context) => {
      const { id } = await found(context);
      await changes.take(context.db, id, name, context.now);
      return new Json({ id });
    },
  });

/** What mutations perform. Each answers the id of what it changed. */
export const ACTIONS = {
  reassign: put("/:source_user_id/reassign", {
    ...owners,
    summary: "Reassign a placeholder to a user",
    input: { ...one, user_id: param.integer() },
    handle: async (context) => {
      const known = await found(context);
      const user = await users.find(context.db, context.input.user_id);
      await changes.propose(await reassigningOf(context), known, user);
      return new Json({ id: known.id });
    },
  }),
  cancel: step("cancel", "Take back who a placeholder was said to be", "cancel"),
  keep: step("keep", "Keep a placeholder", "keep"),
  undoKeep: step("undo_keep", "Keep a placeholder no more", "undoKeep"),
  keepAll: post("/keep_all", {
    ...owners,
    summary: "Keep all placeholders of a group that are not reassigned",
    handle: async ({ db, source, now }) =>
      new Json({ count: await changes.keepAll(db, source.id, now) }),
  }),
  remind: put("/:source_user_id/remind", {
    ...owners,
    summary: "Ask the user to whom a placeholder is to be reassigned once more",
    input: one,
    handle: async (context) => {
      const known = await found(context);
      await changes.remind(context.db, known, context.now);
      return new Json({ id: known.id });
    },
  }),
  retry: put("/:source_user_id/retry", {
    ...owners,
    summary: "Try a reassignment again that has failed",
    input: one,
    handle: async (context) => {
      const known = await found(context);
      await changes.retry(context.db, known, context.now);
      return new Json({ id: known.id });
    },
  }),
};
