import { invalid } from "./errors.ts";

const SEGMENT = /^[a-z0-9_][a-z0-9_.-]*$/i;

/** Words that can't be a first segment, since the API and its pages use them. */
const RESERVED = ["-", "api", "oauth", "groups", "projects", "users", "uploads"];

/** Whether no user and no group at the top can have this path. */
export function isReserved(segment: string): boolean {
  return RESERVED.includes(segment.toLowerCase());
}

/** Endings that no segment can have: the addresses of repositories and feeds have them. */
const ENDINGS = /\.(git|atom)$/i;

/** Why a project can't have a path, without the namespace before it; `undefined` if it can. */
export function problemOfProjectPath(path: string): string | undefined {
  if (!SEGMENT.test(path) || ENDINGS.test(path)) {
    return "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'";
  }
  // GitLab refuses it once there is a project with the rest of the path.
  return /\.wiki$/i.test(path) ? "cannot end in '.wiki': that is the address of a wiki" : undefined;
}

/**
 * Checks one segment of the path of a user or group.
 *
 * @param options `top`: whether it is a first segment, where some words are reserved; `attribute`: its name in errors
 * @throws ApiError 400
 */
export function requirePath(
  segment: string,
  { top = false, attribute = "path" }: { top?: boolean; attribute?: string } = {},
): void {
  if (!SEGMENT.test(segment) || ENDINGS.test(segment)) {
    throw invalid({
      [attribute]: [
        "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.git' or '.atom'.",
      ],
    });
  }
  if (top && isReserved(segment)) {
    throw invalid({ [attribute]: [`${segment} is a reserved name`] });
  }
}

/** As in GitLab; far below what a PostgreSQL index can hold. */
const MAX_FULL_PATH = 255;

/**
 * Checks the length of a full path: the path of a group or project, with the paths of the groups above it.
 *
 * @param attribute the name in errors of the segment that makes it too long
 * @throws ApiError 400
 */
export function requireFullPath(fullPath: string, attribute = "path"): void {
  if (fullPath.length > MAX_FULL_PATH) {
    throw invalid({
      [attribute]: [`makes the full path too long (maximum is ${MAX_FULL_PATH} characters)`],
    });
  }
}
