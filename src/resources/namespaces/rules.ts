import { conflict } from "../../core/errors.ts";

/**
 * Refuses a name or path that is taken.
 *
 * @throws ApiError 409 with the message of GitLab's 400 (docs/errors.md)
 */
export function refuseTaken(taken: { name: boolean; path: boolean }): void {
  const errors = ["has already been taken"];
  if (taken.name || taken.path) {
    throw conflict({ ...(taken.name && { name: errors }), ...(taken.path && { path: errors }) });
  }
}
