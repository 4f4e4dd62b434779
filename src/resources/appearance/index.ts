import * as audit from "../../audit/log.ts";
import { invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import { fileReply, imageHeaders } from "../../core/http/file-reply.ts";
import * as param from "../../core/input.ts";
import { withoutEffect } from "../../core/kept.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { avatar } from "../avatars/input.ts";
import { change, findPicture, looks, PICTURES, type PictureName } from "./queries.ts";
import { migrations } from "./table.ts";

const MEBIBYTE = 1024 * 1024;

const each = <T>(make: (name: PictureName) => T) =>
  Object.fromEntries(PICTURES.map((name) => [name, make(name)])) as Record<PictureName, T>;

const fileNameOf = (name: PictureName) =>
  `(select x.file_name from appearance_pictures x where x.name = '${name}')`;

const appearance = presenter({
  ...looks.fields,
  ...each((name) =>
    field.derived([fileNameOf(name)], "string or null", ([file]) =>
      file === null ? null : `/uploads/-/system/appearance/${name}/1/${file}`,
    ),
  ),
});

const changeable = {
  ...looks.attributes,
  ...each(() => withoutEffect(param.clearable(avatar()))),
};

/** One row, also while nothing was ever changed. */
async function rowOf(db: Reader): Promise<Value[]> {
  const [found] = await db.rows(
    `select ${appearance.columns} from (select 1 as id) d left join appearances ap on ap.id = d.id`,
  );
  return found as Value[];
}

const { get, put } = routes({ path: "/application/appearance" });

/** How the application presents itself. */
export const appearanceResource: Resource = {
  name: "Appearance",
  migrations,
  routes: [
    get("", {
      summary: "Get how the application presents itself",
      access: "admin",
      presenter: appearance,
      handle: ({ db }) => rowOf(db),
    }),
    put("", {
      summary:
        "Change how the application presents itself; pictures are sent as multipart/form-data",
      access: "admin",
      input: changeable,
      upload: {
        part: "logo",
        otherParts: PICTURES.slice(1),
        maxBytes: MEBIBYTE,
        whenTooLarge: (part) => invalid({ [part]: ["is too big (should be at most 1 MiB)"] }),
      },
      presenter: appearance,
      handle: async (context) => {
        const { db, input, now } = context;
        await change(db, input, now);
        const target = Object.keys(input).sort().join(", ");
        await audit.log(context, "appearance changed", { target });
        return rowOf(db);
      },
    }),
  ],
};

/** The addresses of the application's pictures, which are outside of the API. */
export const appearanceAddresses: Resource = {
  name: "Addresses of the application's pictures",
  migrations: [],
  routes: [
    routes({ path: "/uploads/-/system/appearance" }).get("/:picture/1/:file_name", {
      answersWith: "image/*",
      summary: "Download a picture of the application by its address",
      access: "anyone",
      input: { picture: param.anyText(), file_name: param.anyText() },
      handle: async ({ db, request, input: { picture, file_name } }) => {
        const found = await findPicture(db, picture);
        if (found?.file_name !== file_name) throw notFound();
        return fileReply(db, request, found, imageHeaders(file_name, found.content_type));
      },
    }),
  ],
};
