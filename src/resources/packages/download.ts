import { dispositionOf, fileReply } from "../../core/http/file-reply.ts";
import type { RawReply, RequestInfo } from "../../core/resource.ts";
import type { StoredFile } from "../../files/write.ts";
import type { Reader } from "../../store/port.ts";

/**
 * Answers a file of a package, which browsers neither show nor run.
 *
 * @param name which it is saved as
 * @throws ApiError 416 for a range behind its end
 */
export const downloadOf = (
  db: Reader,
  request: RequestInfo,
  file: StoredFile,
  name: string,
): RawReply =>
  fileReply(db, request, file, {
    "content-type": "application/octet-stream",
    "content-disposition": dispositionOf("attachment", name),
    "content-security-policy": "default-src 'none'; sandbox",
  });
