import { avatarUrl } from "../../core/avatars.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, type Route, routes } from "../../core/resource.ts";
import { download } from "./download.ts";
import { AVATAR_PART, avatar } from "./input.ts";
import * as avatars from "./queries.ts";
import { migrations } from "./table.ts";

const ofUser = presenter({ avatar_url: avatarUrl("u") });

const ofSources = (["group", "project"] as const).map(
  (kind): Route =>
    routes({ source: kind }).get("/avatar", {
      summary: `Download the picture of a ${kind}`,
      access: "anyone",
      handle: (context) => download(context, { kind, id: context.source.id }),
    }),
);

/** Pictures of users, groups and projects. */
export const avatarResource: Resource = {
  name: "Avatars",
  migrations,
  routes: [
    routes().put("/user/avatar", {
      summary: "Upload the calling user's picture (multipart/form-data), or remove it",
      input: { avatar: avatar() },
      upload: AVATAR_PART,
      presenter: ofUser,
      handle: async ({ db, presenter, caller, input, now }) => {
        await avatars.change(db, { kind: "user", id: caller.id }, input.avatar, now);
        const rows = await db.rows(`select ${presenter.columns} from users u where u.id = ?`, [
          caller.id,
        ]);
        return rows[0];
      },
    }),
    ...ofSources,
  ],
};
