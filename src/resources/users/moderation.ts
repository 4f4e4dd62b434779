import * as audit from "../../audit/log.ts";
import * as twoFactor from "../../auth/two-factor.ts";
import type { UserState } from "../../core/access/caller.ts";
import { ApiError, badRequest, conflict, forbidden } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, Json, type Route, routes } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import type { Database } from "../../store/port.ts";
import { dormancy } from "../application-settings/dormant.ts";
import * as changes from "./changes.ts";
import { activityOf } from "./dormant.ts";
import type * as users from "./queries.ts";
import { requireChangeable } from "./rules.ts";

type State = users.User["state"];

/** What a route about a user's account works with. */
type Moderating = Pick<Context, "now" | "request"> & {
  db: Database;
  caller: NonNullable<Context["caller"]>;
  input: { user_id: number };
};

/** Whether GitLab calls an account blocked. */
const isBlocked = (state: State) =>
  ["blocked", "banned", "blocked_pending_approval", "ldap_blocked"].includes(state);

/** 403 as GitLab's services word it, without the words that routes begin with. */
const refusal = (message: string) => new ApiError(403, { message });

/** A way to move an account to another state. */
interface Move {
  readonly summary: string;
  readonly to: UserState;
  /** What is answered where nothing changes. @throws ApiError where the state forbids it */
  readonly settled: (context: Moderating, found: users.User) => unknown;
  /** What is answered after the change. Default: true. */
  readonly answer?: object;
}

/** `settled` of a state that is moved on. */
const MOVES = Symbol("moves");

const MODERATION: Readonly<Record<string, Move>> = {
  block: {
    summary: "Block a user: their tokens and sessions answer 403",
    to: "blocked",
    settled: ({ caller, input }, { state }) => {
      if (caller.id === input.user_id) {
        throw forbidden("The API initiating user cannot be blocked by the API");
      }
      if (state === "ldap_blocked") {
        throw forbidden("LDAP blocked users cannot be modified by the API");
      }
      // As in GitLab, which clients rely on to see whether they changed anything.
      return isBlocked(state) ? null : MOVES;
    },
  },
  unblock: {
    summary: "Unblock a user",
    to: "active",
    settled: (_, { state }) => {
      if (state === "ldap_blocked") {
        throw forbidden("LDAP blocked users cannot be unblocked by the API");
      }
      if (state === "deactivated") {
        throw forbidden("Deactivated users cannot be unblocked by the API");
      }
      return state === "active" || state === "banned" ? false : MOVES;
    },
  },
  deactivate: {
    summary:
      "Deactivate a user who was not active lately: they can't do anything until they sign in",
    to: "deactivated",
    settled: async ({ db, now }, found) => {
      if (isBlocked(found.state)) {
        throw refusal("Error occurred. A blocked user cannot be deactivated");
      }
      if (found.state === "deactivated") return null;
      const { days } = await dormancy(db);
      const activity = await activityOf(db, found.id, dayOf(now - days * 86_400_000));
      if (activity === "bot") throw refusal("Internal users cannot be deactivated");
      if (activity === "active") {
        throw refusal(
          `The user you are trying to deactivate has been active in the past ${days} days and cannot be deactivated`,
        );
      }
      return MOVES;
    },
  },
  activate: {
    summary: "Make a deactivated user active",
    to: "active",
    settled: (_, { state }) => {
      if (isBlocked(state)) {
        throw refusal("Error occurred. A blocked user must be unblocked to be activated");
      }
      return state === "active" ? true : MOVES;
    },
  },
  approve: {
    summary: "Approve a user whose account waits for it",
    to: "active",
    settled: (_, { state }) => {
      if (state === "blocked_pending_approval") return MOVES;
      throw conflict("The user you are trying to approve is not pending approval");
    },
    answer: { message: "Success" },
  },
  ban: {
    summary:
      "Ban a user: they are blocked, and others don't see their issues, merge requests and notes",
    to: "banned",
    settled: (_, { state }) => {
      if (state === "active") return MOVES;
      throw refusal(`You cannot ban ${state} users.`);
    },
  },
  unban: {
    summary: "Lift the ban of a user",
    to: "active",
    settled: (_, { state }) => {
      if (state === "banned") return MOVES;
      throw refusal(`You cannot unban ${state} users.`);
    },
  },
};

const id = { user_id: param.untypedId() };
const { patch, post } = routes({ path: "/users" });

/** The routes by which administrators decide who may use their account. */
export const moderationRoutes: Route[] = [
  ...Object.entries(MODERATION).map(([name, { summary, to, settled, answer = true as const }]) =>
    post(`/:user_id/${name}`, {
      examples: [answer],
      summary,
      access: "admin",
      input: id,
      handle: async (context) => {
        const found = await requireChangeable(context.db, context.input.user_id);
        const answered = await settled(context, found);
        if (answered !== MOVES) return new Json(answered);
        await changes.changeState(context.db, audit.actorOf(context), found, to, context.now);
        return new Json(answer);
      },
    }),
  ),
  post("/:user_id/reject", {
    examples: [{ message: "Success" }],
    summary: "Reject a user whose account waits for approval: it is deleted",
    access: "admin",
    status: 200,
    input: id,
    handle: async (context) => {
      const found = await requireChangeable(context.db, context.input.user_id);
      await changes.rejectUser(context.db, audit.actorOf(context), found, context.now);
      return new Json({ message: "Success" });
    },
  }),
  patch("/:user_id/disable_two_factor", {
    summary: "Turn a user's two-factor authentication off",
    access: "admin",
    input: id,
    handle: async (context) => {
      const found = await requireChangeable(context.db, context.input.user_id);
      if (found.admin === 1) {
        throw forbidden(
          "Two-factor authentication for admins cannot be disabled via the API. Use the Rails console",
        );
      }
      if (!(await twoFactor.isOn(context.db, found.id))) {
        throw badRequest("Two-factor authentication is not enabled for this user");
      }
      await twoFactor.turnOff(context.db, found.id);
      await audit.log(
        { db: context.db, by: audit.actorOf(context), now: context.now },
        "two-factor disabled",
        { userId: found.id },
      );
      return undefined;
    },
  }),
];
