import type { Source } from "../../core/access/source.ts";
import { notFound } from "../../core/errors.ts";
import { fileReply, uploadHeaders } from "../../core/http/file-reply.ts";
import type { Context } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import * as uploads from "./queries.ts";

/** An upload of a project. @throws ApiError 404 */
export async function requireUpload(db: Reader, { id }: Source, name: uploads.UploadName) {
  const found = await uploads.find(db, id, name);
  if (!found) throw notFound();
  return found;
}

/** Answers the file of an upload. */
export async function download(
  { db, request }: Pick<Context, "request"> & { db: Reader },
  source: Source,
  name: uploads.UploadName,
) {
  const found = await requireUpload(db, source, name);
  return fileReply(db, request, found, uploadHeaders(found.file_name));
}
