import { ApiError } from "../core/errors.ts";
import type { Mount } from "../core/http/mount.ts";
import { RawReply } from "../core/resource.ts";

/** The media type of requests and answers. */
export const LFS_JSON = "application/vnd.git-lfs+json";

/** An error of Git LFS. @param more what its body has besides */
export const lfsError = (
  status: number,
  message: string,
  more: object = {},
  headers: Readonly<Record<string, string>> = {},
) => new ApiError(status, { ...more, message, lfs: true }, { ...headers });

/** What is told instead of what the pipeline and Git say, in GitLab's words. */
const MESSAGES: Readonly<Record<number, string>> = {
  403: "Access forbidden. Check your access level.",
  404: "Not found.",
};

/** What is told to those who may not, and of what there is not, or they may not know of. */
export const refusal = (status: 403 | 404) => lfsError(status, MESSAGES[status] as string);

const CHALLENGE = 'Basic realm="GitLab"';

/** Errors in the form of the LFS API, whoever throws them. Without credentials, text, as Git gets it. */
export const showError: NonNullable<Mount["showError"]> = ({ status, headers, body }, { view }) => {
  if (status === 401) {
    const challenges = { "www-authenticate": CHALLENGE, "lfs-authenticate": CHALLENGE };
    const type = { "content-type": "text/plain; charset=utf-8" };
    return new RawReply(401, { ...headers, ...challenges, ...type }, "HTTP Basic: Access denied\n");
  }
  const { lfs, ...own } = body as { lfs?: true };
  const [reason] = Object.values(body);
  const message =
    MESSAGES[status] ?? (typeof reason === "string" ? reason : JSON.stringify(reason));
  const shown = { ...(lfs ? own : { message }), documentation_url: `${view.base}/help` };
  return new RawReply(status, { ...headers, "content-type": LFS_JSON }, JSON.stringify(shown));
};
