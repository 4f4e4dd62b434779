import { attachmentName } from "../../core/http/attachments.ts";
import { imageTypeOf } from "../../core/http/images.ts";
import type { UploadedFile } from "../../core/http/upload.ts";
import * as param from "../../core/input.ts";
import { effective, kept, keptIn, keptOrNone, storedIn } from "../../core/kept.ts";
import type { StoredFile } from "../../files/write.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";

/** The names of the pictures. */
export const PICTURES = ["logo", "header_logo", "favicon", "pwa_icon"] as const;
export type PictureName = (typeof PICTURES)[number];

const text = param.anyText({ max: 10_000 });
const color = param.checked(
  param.text(),
  (sent) => /^#(?:[0-9a-f]{3}){1,2}$/i.test(sent),
  "must be a valid color code",
);

/** What the application says of itself: the texts are shown where people sign in, and in mails. */
export const looks = keptIn("ap.kept_settings", {
  title: effective(kept(text, "")),
  description: effective(kept(text, "")),
  pwa_name: keptOrNone(text),
  pwa_short_name: keptOrNone(text),
  pwa_description: keptOrNone(text),
  member_guidelines: kept(text, ""),
  new_project_guidelines: kept(text, ""),
  profile_image_guidelines: kept(text, ""),
  header_message: effective(kept(text, "")),
  footer_message: effective(kept(text, "")),
  message_background_color: kept(color, "#E75E40"),
  message_font_color: kept(color, "#FFFFFF"),
  email_header_and_footer_enabled: effective(kept(param.boolean(), false)),
});

/** What the application says of itself. */
export type Looks = ReturnType<typeof looks.read>;

/** What the application says of itself now. */
export const find = async (db: Reader): Promise<Looks> =>
  looks.read(await storedIn(db, "appearances", 1));

/** What mails begin and end with: two texts, which may be empty. */
export async function messagesOfMails(db: Reader): Promise<[header: string, footer: string]> {
  const { email_header_and_footer_enabled: isOn, ...said } = await find(db);
  return isOn ? [said.header_message ?? "", said.footer_message ?? ""] : ["", ""];
}

/** Changes what is not `undefined`. A picture that is `null` is removed. */
export async function change(
  db: Database,
  input: Readonly<Record<string, unknown>> & {
    readonly [name in PictureName]?: UploadedFile | null | undefined;
  },
  now: number,
): Promise<void> {
  await db.run("insert into appearances (id, updated_at) values (1, ?) on conflict do nothing", [
    now,
  ]);
  const kept_settings = await looks.changed(input, () => storedIn(db, "appearances", 1));
  await updateRow(db, "appearances", 1, { kept_settings }, now);
  for (const name of PICTURES) {
    const picture = input[name];
    if (picture === undefined) continue;
    await db.run("delete from appearance_pictures where name = ?", [name]);
    if (picture === null) continue;
    await insertRow(db, "appearance_pictures", {
      name,
      file_id: picture.id,
      file_name: attachmentName(picture.name),
      content_type: imageTypeOf(picture.head) as string,
    });
  }
}

/** A picture of the application by its name, or `undefined`. */
export function findPicture(
  db: Reader,
  name: string,
): Awaitable<(StoredFile & { file_name: string; content_type: string }) | undefined> {
  return db.one(
    `select x.file_name, x.content_type, f.id, f.size, f.sha256
     from appearance_pictures x join stored_files f on f.id = x.file_id where x.name = ?`,
    [name],
  );
}
