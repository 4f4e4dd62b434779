import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import { badRequest, notFound, notModified } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { type Resource, type Route, routes } from "../../core/resource.ts";
import { insertRow } from "../../store/insert.ts";
import type { Value } from "../../store/port.ts";
import { userSummary } from "../users/json.ts";
import * as users from "../users/queries.ts";
import { isHidden, requireUser } from "../users/rules.ts";
import { migrations } from "./table.ts";

/** How many users one user follows, at most. */
const MOST = 300;

const { list, post } = routes({ path: "/users/:user_id" });

const id = { user_id: param.untypedId() };

/** The two sides of following: the column with the user of the path, and that with the users who are listed. */
const LISTS = {
  followers: { of: "followed_id", listed: "follower_id", summary: "List the followers of a user" },
  following: {
    of: "follower_id",
    listed: "followed_id",
    summary: "List the users that a user follows",
  },
} as const;

const lists = (["followers", "following"] as const).map((name): Route => {
  const { of, listed, summary } = LISTS[name];
  return list(`/${name}`, {
    summary: `${summary}, the latest first; 404 for private profiles`,
    input: id,
    presenter: userSummary,
    handle: async ({ db, presenter, page, viewer, input }) => {
      const found = await requireUser(db, input.user_id);
      if (isHidden(found, viewer)) throw notFound("User");
      return paginate(db, presenter, page, {
        from: `user_follows uf join users u on u.id = uf.${listed} where uf.${of} = ? and ${NOT_DELETED_USER}`,
        values: [found.id],
        order: "uf.id desc",
      });
    },
  });
});

/** Users who follow others. */
export const userFollowResource: Resource = {
  name: "User follows",
  migrations,
  routes: [
    post("/follow", {
      alsoAnswers: { 304: [] },
      summary: "Follow a user; 304 if the caller already does, or is that user",
      input: id,
      presenter: userSummary,
      handle: async ({ db, presenter, caller, input, now }) => {
        const followed = await requireUser(db, input.user_id);
        if (followed.id === caller.id) throw notModified();
        const [known, [counted]] = await Promise.all([
          db.rows("select 1 from user_follows where follower_id = ? and followed_id = ?", [
            caller.id,
            followed.id,
          ]),
          db.rows("select count(*) from user_follows where follower_id = ?", [caller.id]),
        ]);
        if (known.length > 0) throw notModified();
        if (Number(counted?.[0]) >= MOST)
          throw badRequest(`You can't follow more than ${MOST} users.`);
        const follow = { follower_id: caller.id, followed_id: followed.id, created_at: now };
        await insertRow(db, "user_follows", follow);
        return (await users.row(db, presenter, followed.id)) as Value[];
      },
    }),
    post("/unfollow", {
      alsoAnswers: { 304: [] },
      summary: "No longer follow a user; 304 if the caller does not",
      input: id,
      presenter: userSummary,
      handle: async ({ db, presenter, caller, input }) => {
        const followed = await requireUser(db, input.user_id);
        const removed = await db.all(
          "delete from user_follows where follower_id = ? and followed_id = ? returning id",
          [caller.id, followed.id],
        );
        if (removed.length === 0) throw notModified();
        return (await users.row(db, presenter, followed.id)) as Value[];
      },
    }),
    ...lists,
  ],
};
