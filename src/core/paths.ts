import { invalid } from "./errors.ts";

const SEGMENT = /^[a-z0-9_][a-z0-9_.-]*$/i;

/** What the first segment can't be, since the API and its pages stand there. */
const RESERVED = ["-", "api", "oauth", "groups", "projects", "users", "uploads"];

/**
 * Checks one segment of the path of a user, group or project.
 *
 * @param options `top`: whether it is a first segment, where some words are reserved; `attribute`: what it is called
 * @throws ApiError 400
 */
export function requirePath(
  segment: string,
  { top = false, attribute = "path" }: { top?: boolean; attribute?: string } = {},
): void {
  if (!SEGMENT.test(segment) || /\.(git|atom)$/i.test(segment)) {
    throw invalid({
      [attribute]: [
        "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.git' or '.atom'.",
      ],
    });
  }
  if (top && RESERVED.includes(segment.toLowerCase())) {
    throw invalid({ [attribute]: [`${segment} is a reserved name`] });
  }
}
