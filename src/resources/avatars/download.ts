import { notFound } from "../../core/errors.ts";
import { fileReply, imageHeaders } from "../../core/http/file-reply.ts";
import type { Context } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import * as avatars from "./queries.ts";

/**
 * Answers the picture of a user, group, project or topic.
 *
 * @param name the file name in its address, if that has one
 * @throws ApiError 404
 */
export async function download(
  { db, request }: Pick<Context, "request"> & { db: Reader },
  owner: avatars.Owner,
  name?: string,
) {
  const found = await avatars.find(db, owner);
  if (!found || (name !== undefined && name !== found.file_name)) throw notFound("Avatar");
  return fileReply(db, request, found, imageHeaders(found.file_name, found.content_type));
}
