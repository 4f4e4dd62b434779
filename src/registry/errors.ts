import { ApiError } from "../core/errors.ts";
import type { Mount } from "../core/http/mount.ts";
import { RawReply } from "../core/resource.ts";

/** The codes of errors (OCI distribution 1.1, "Error Codes"), and of the token service. */
type Code =
  | "BLOB_UNKNOWN"
  | "BLOB_UPLOAD_INVALID"
  | "BLOB_UPLOAD_UNKNOWN"
  | "DENIED"
  | "DIGEST_INVALID"
  | "MANIFEST_BLOB_UNKNOWN"
  | "MANIFEST_INVALID"
  | "MANIFEST_REFERENCED"
  | "MANIFEST_UNKNOWN"
  | "NAME_INVALID"
  | "NAME_UNKNOWN"
  | "SIZE_INVALID"
  | "TAG_INVALID"
  | "TOOMANYREQUESTS"
  | "UNAUTHORIZED"
  | "UNAVAILABLE"
  | "UNKNOWN"
  | "UNSUPPORTED";

/** An error in the form of the OCI specification. */
export function registryError(
  status: number,
  code: Code,
  message: string,
  detail: unknown = {},
  headers: Readonly<Record<string, string>> = {},
): ApiError {
  return new ApiError(status, { errors: [{ code, message, detail }] }, { ...headers });
}

/** What an error of the pipeline is called. */
const CODES: Readonly<Record<number, Code>> = {
  401: "UNAUTHORIZED",
  403: "DENIED",
  404: "NAME_UNKNOWN",
  405: "UNSUPPORTED",
  413: "SIZE_INVALID",
  429: "TOOMANYREQUESTS",
  503: "UNAVAILABLE",
};

/** What everybody is told who may not do something. */
export const FORBIDDEN = "access forbidden";

/** The version of the protocol, which old clients look for. */
export const VERSION = { "docker-distribution-api-version": "registry/2.0" } as const;

/** Errors in the form of the OCI specification, whoever throws them. */
export const showError: NonNullable<Mount["showError"]> = ({ status, headers, body }) => {
  const [reason] = Object.values(body);
  const shown =
    "errors" in body
      ? body
      : registryError(status, CODES[status] ?? "UNKNOWN", textOf(status, reason)).body;
  const type = { "content-type": "application/json; charset=utf-8" };
  return new RawReply(status, { ...headers, ...VERSION, ...type }, JSON.stringify(shown));
};

const textOf = (status: number, reason: unknown) => {
  if (status === 403) return FORBIDDEN;
  return typeof reason === "string" ? reason : JSON.stringify(reason);
};
