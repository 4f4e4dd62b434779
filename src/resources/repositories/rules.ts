import { ApiError } from "../../core/errors.ts";
import { RefusedError } from "../../git/errors.ts";
import * as git from "../../git/tree-path.ts";

/** 400 for a change of a repository that can't be made. */
export const impossible = (message: string) => new ApiError(400, { message });

/** {@link git.treePath} for the API. @throws ApiError 400 if files can't have the path */
export function treePath(path: string): string {
  try {
    return git.treePath(path);
  } catch (error) {
    throw error instanceof RefusedError ? impossible(error.message) : error;
  }
}
