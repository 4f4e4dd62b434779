import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import { avatarUrl } from "../../core/avatars.ts";
import * as param from "../../core/input.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { type Resource, type Route, routes } from "../../core/resource.ts";
import { download } from "./download.ts";
import { AVATAR_PART, avatar } from "./input.ts";
import * as avatars from "./queries.ts";
import { migrations } from "./table.ts";

const ofUser = presenter({ avatar_url: avatarUrl("u") });
const toRow = rowMaker(ofUser);

const ofSources = (["group", "project"] as const).map(
  (kind): Route =>
    routes({ source: kind }).get("/avatar", {
      answersWith: "image/*",
      summary: `Download the picture of a ${kind}`,
      access: "anyone",
      handle: (context) => download(context, { kind, id: context.source.id }),
    }),
);

/** Pictures of users, groups, projects and topics. */
export const avatarResource: Resource = {
  name: "Avatars",
  migrations,
  routes: [
    routes().get("/avatar", {
      summary: "Get the address of the picture of the user with a public e-mail address",
      access: "anyone",
      input: { email: param.text(), size: param.optional(param.integer({ min: 1 })) },
      presenter: ofUser,
      handle: async ({ db, presenter, input: { email } }) => {
        const [found] = await db.rows(
          `select ${presenter.columns} from users u where u.public_email is not null and lower(u.public_email) = lower(?) and ${NOT_DELETED_USER}`,
          [email],
        );
        if (found) return found;
        // Whoever nobody knows has a picture too, as a user without one: of the first part of the address.
        const [name] = email.split("@");
        return toRow({ "u.username": name as string });
      },
    }),
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
