import { scimToken } from "../../auth/authenticators/scim.ts";
import type { ApiError } from "../../core/errors.ts";
import type { Mount } from "../../core/http/mount.ts";
import { RawReply } from "../../core/resource.ts";
import { errorJson } from "../../scim/answers.ts";

/** The content type of every answer (RFC 7644 §3.1). */
export const SCIM_TYPE = "application/scim+json";

/** The beginning of all SCIM paths. */
export const SCIM_BASE = "/api/scim/v2";

/** Words of routes that come after a group's path. */
const WORDS = /^(users|groups|schemas|resourcetypes|serviceproviderconfig|bulk|me|\.search)$/i;

/**
 * The path of a group's SCIM API, below the server's address. Slashes stay, unless a group below is called like a route:
 * then only `%2F` says where the group's path ends.
 */
export function scimPath(groupPath: string): string {
  const [, ...below] = groupPath.split("/");
  const path = below.some((segment) => WORDS.test(segment))
    ? encodeURIComponent(groupPath)
    : groupPath;
  return `${SCIM_BASE}/groups/${path}`;
}

/** Identity providers, which manage the people of a group (RFC 7644). */
export const SCIM: Omit<Mount, "resources"> = {
  name: "SCIM",
  base: SCIM_BASE,
  authenticators: [scimToken],
  countsRequests: true,
  contentType: SCIM_TYPE,
  showError,
};

/** Turns errors of all parts of the application into SCIM's (RFC 7644 §3.12). */
function showError({ status: given, headers, body }: ApiError): RawReply {
  const { scimType, detail } = problemOf(given, body as Said);
  // SCIM has no 414: queries are long because of their filters.
  const status = given === 414 ? 400 : given;
  const json = errorJson(status, scimType, detail);
  return new RawReply(status, { ...headers, "content-type": SCIM_TYPE }, JSON.stringify(json));
}

/** What bodies of errors say. */
interface Said {
  scimType?: string;
  detail?: string;
  error?: string;
  message?: string | Readonly<Record<string, readonly string[]>>;
}

function problemOf(status: number, said: Said): { scimType: string | undefined; detail: string } {
  if (said.detail !== undefined) return { scimType: said.scimType, detail: said.detail };
  if (status === 414) return { scimType: "invalidFilter", detail: "The query is too long." };
  const { message = said.error ?? "" } = said;
  if (typeof message === "string") {
    // The reason of an unreadable request is in `error`.
    const scimType = said.message === undefined ? "invalidSyntax" : "invalidValue";
    return { scimType: status === 400 ? scimType : undefined, detail: message };
  }
  const [[name, problems] = ["", []]] = Object.entries(message);
  const scimType = name === "filter" ? "invalidFilter" : "invalidValue";
  return {
    scimType: status === 400 ? scimType : undefined,
    detail: `${name} ${problems.join(", ")}`,
  };
}
