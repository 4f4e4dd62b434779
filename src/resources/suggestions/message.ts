import { invalid } from "../../core/errors.ts";
import { LONG_TEXT } from "../../core/input.ts";
import type { Signature } from "../../git/commits.ts";

/** What the message of a commit may mention that applies suggestions. */
export interface MessageFacts {
  readonly branch: string;
  readonly paths: readonly string[];
  readonly project: { readonly name: string; readonly full_path: string };
  /** Who applies them. */
  readonly caller: { readonly name: string; readonly username: string };
  /** How many. */
  readonly suggestions: number;
  /** Who has suggested them, except the caller. */
  readonly authors: readonly Pick<Signature, "name" | "email">[];
}

const PLACEHOLDERS = {
  branch_name: ({ branch }) => branch,
  files_count: ({ paths }) => String(paths.length),
  file_paths: ({ paths }) => paths.join(", "),
  project_name: ({ project }) => project.name,
  project_path: ({ project }) => project.full_path,
  user_full_name: ({ caller }) => caller.name,
  username: ({ caller }) => caller.username,
  suggestions_count: ({ suggestions }) => String(suggestions),
  co_authored_by: ({ authors }) =>
    authors.map(({ name, email }) => `Co-authored-by: ${name} <${email}>`).join("\n"),
} satisfies Readonly<Record<string, (facts: MessageFacts) => string>>;

const PLACEHOLDER = new RegExp(`%\\{(${Object.keys(PLACEHOLDERS).join("|")})\\}`, "g");

const DEFAULT =
  "Apply %{suggestions_count} suggestion(s) to %{files_count} file(s)\n\n%{co_authored_by}";

/**
 * Fills in the template of a commit's message.
 *
 * @param template that of the request or else of the project, if there is one
 * @throws ApiError 400 if the message is too long: a template may name a long text many times
 */
export function messageOf(template: string | null, facts: MessageFacts): string {
  let characters = 0;
  const placed = (_: string, name: string) => {
    const value = PLACEHOLDERS[name as keyof typeof PLACEHOLDERS](facts);
    characters += value.length;
    if (characters <= LONG_TEXT) return value;
    throw invalid({ commit_message: [`is too long (maximum is ${LONG_TEXT} characters)`] });
  };
  return (template || DEFAULT).replace(PLACEHOLDER, placed).trim();
}
