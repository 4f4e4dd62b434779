import type { Push } from "../git/push.ts";

/**
 * Why a whole push is refused, if it is: GitLab refuses all of it for one reference.
 *
 * @param head the full name of the default branch
 */
export function refusalOf({ changes }: Push, head: string): string | undefined {
  const deletesHead = changes.some(({ name, to }) => name === head && !to);
  return deletesHead ? "The default branch of a project cannot be deleted." : undefined;
}
