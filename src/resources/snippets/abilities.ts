import type { Ability } from "../../core/access/abilities.ts";
import { isWritable } from "../../core/access/features.ts";
import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";

/** The role with which people write and change their own snippets of a project. */
export const SNIPPET_AUTHOR = "guest";

/**
 * Whether the caller may change or delete a snippet: a project's as its author, who must be a member still, or as a
 * maintainer; a personal one as its author or an administrator.
 */
export const mayUpdateSnippet: Ability<{ readonly author_id: number }, Source | undefined> = (
  { author_id },
  { source, caller },
) => {
  const isAuthor = author_id === caller?.id;
  if (!source) return isAuthor || caller?.admin === true;
  return (
    isWritable(source, "snippets") && hasRole(source, isAuthor ? SNIPPET_AUTHOR : "maintainer")
  );
};
