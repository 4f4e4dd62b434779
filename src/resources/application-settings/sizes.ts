import { storedIn } from "../../core/kept.ts";
import type { Reader } from "../../store/port.ts";
import { keptSettings } from "./kept.ts";

const MEBIBYTE = 1024 * 1024;

/** How many bytes a setting in mebibytes allows; `undefined` if it is 0, null or never set: then it limits nothing. */
async function allowed(
  db: Reader,
  name: "max_attachment_size" | "max_import_size" | "receive_max_input_size",
): Promise<number | undefined> {
  const size = keptSettings.read(await storedIn(db, "application_settings", 1))[name];
  return size ? Number(size) * MEBIBYTE : undefined;
}

/** How large attachments may be, in bytes, where that is less than the application's own limit. */
export const mostAttachmentBytes = ({ db }: { db: Reader }) => allowed(db, "max_attachment_size");

/** How large archives of projects may be, in bytes, where that is less than our own limit. */
export const mostImportBytes = ({ db }: { db: Reader }) => allowed(db, "max_import_size");

/** How large a push may be, in bytes, where that is less than our own limit. */
export const mostPushBytes = (db: Reader) => allowed(db, "receive_max_input_size");
