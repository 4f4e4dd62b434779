import { randomUUID } from "node:crypto";
import { ApiError, preconditionFailed, unauthorized } from "../errors.ts";
import type { View } from "../field.ts";
import type { Secrets } from "../secrets.ts";
import { sshUrlOf } from "../ssh-address.ts";
import type { Edition } from "../version.ts";
import { type BodyLimits, readBody, requireJson } from "./body.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Incoming } from "./incoming.ts";
import type { Mount } from "./mount.ts";
import { type Parameters, requireNames } from "./parameters.ts";
import type { Upload } from "./upload.ts";

/** The client's request id, if it sent a usable one, or a new one. */
export function requestIdOf(incoming: Incoming): string {
  const given = incoming.header("x-request-id");
  return given && /^[\w.-]{1,255}$/.test(given) ? given : randomUUID();
}

/**
 * What presenters need besides their rows.
 *
 * @param base the public address, without a trailing slash
 * @param now epoch milliseconds
 * @param secrets what decrypts secrets
 * @param edition where Git is served over SSH, if it is
 */
export function viewOf(
  base: string,
  now: number,
  { open }: Pick<Secrets, "open">,
  { ssh, sites }: Pick<Edition, "ssh" | "sites">,
): View {
  const start = base.indexOf("//") + 2;
  const isBracketed = base[start] === "[";
  const end = base.slice(start).search(isBracketed ? /\]/ : /[:/]/);
  const from = isBracketed ? start + 1 : start;
  const host = end < 0 ? base.slice(from) : base.slice(from, start + end);
  const sshUrl = (path: string) => sshUrlOf(ssh, host, path);
  return { base, host, now, open, sshUrl, servesSsh: ssh !== undefined, sites };
}

/** Maximum bytes of a body from callers not yet identified. It may hold a token, a sign-in or a form of a page. */
const UNIDENTIFIED_BYTES = 64 * 1024;

/** Whether a mount finds its callers before it reads bodies: those with forms need the CSRF token in the body. */
export function identifiesFirst({ authenticators, hasForms }: Mount): boolean {
  return authenticators.length > 0 && !hasForms;
}

/**
 * Reads the parameters of the body.
 *
 * @param isIdentified whether the caller is known already
 *
 * @throws ApiError 401 instead of a body's own error, if the route needs a caller and none is known yet
 */
export async function readSent(
  { route, mount }: Endpoint,
  incoming: Incoming,
  limits: BodyLimits,
  isIdentified: boolean,
  upload: Upload | undefined,
): Promise<Parameters> {
  const read = async (bytes: number) => {
    if (route.body === "object") requireJson(incoming);
    const sent = await readBody(incoming, { ...limits, bytes }, upload);
    requireNames(sent, route.input);
    return sent;
  };
  if (isIdentified) return read(limits.bytes);
  try {
    return await read(Math.min(limits.bytes, UNIDENTIFIED_BYTES));
  } catch (error) {
    const needsNobody = !identifiesFirst(mount) || route.access === "anyone";
    if (needsNobody || !(error instanceof ApiError) || error.status >= 500) throw error;
    const { status, body: shown, headers } = unauthorized();
    throw new ApiError(status, shown, { ...headers, ...error.headers });
  }
}

/**
 * Honours `If-Unmodified-Since`.
 *
 * @param updatedAt epoch milliseconds
 * @throws ApiError 412
 */
export function requireUnmodified(incoming: Incoming, updatedAt: number): void {
  const since = Date.parse(incoming.header("if-unmodified-since") ?? "");
  // HTTP dates have whole seconds (RFC 9110 §5.6.7); unparsable ones are ignored, as in GitLab.
  if (Math.floor(updatedAt / 1000) * 1000 > since) throw preconditionFailed();
}
