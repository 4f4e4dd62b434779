import { ApiError, badRequest, invalid, missing, refused } from "../../core/errors.ts";
import type { Parameter } from "../../core/http/parameters.ts";
import * as param from "../../core/input.ts";
import { RefusedError } from "../../git/errors.ts";
import { treePath } from "../../git/tree-path.ts";

/** A file of a snippet. */
export interface SnippetFile {
  readonly path: string;
  readonly content: string;
}

/** The files of a snippet, of which there is at least one, by path. */
export type SnippetFiles = readonly [first: SnippetFile, ...more: SnippetFile[]];

/** Files that a snippet may have, as in GitLab. */
const MOST_FILES = 10;

const ACTIONS = ["create", "update", "move", "delete"] as const;

/** The attributes of a snippet's files: of a single one by itself, or of any as entries of a list. */
export const fileInput = {
  file_name: param.unlessBlank(param.text()),
  content: param.optional(param.text({ max: param.LONG_TEXT })),
  files: param.optional(
    param.arrayOf(param.json("its files: file_path, content; of a change previous_path, action")),
  ),
};

const readEntry = param.inputReader({
  action: param.optional(param.choice(ACTIONS)),
  file_path: fileInput.file_name,
  previous_path: fileInput.file_name,
  content: fileInput.content,
});

/** What a client sent of {@link fileInput}. */
interface SentFiles {
  readonly file_name?: string | undefined;
  readonly content?: string | undefined;
  readonly files?: readonly Parameter[] | undefined;
}

/** A change of a file. */
interface FileAction {
  readonly action: (typeof ACTIONS)[number];
  readonly path: string | undefined;
  readonly previousPath: string | undefined;
  readonly content: string | undefined;
}

/**
 * The files of a new snippet.
 *
 * @throws ApiError 400 if a path or a content is missing, or a snippet can't have these files
 */
export function newFiles(sent: SentFiles): SnippetFiles {
  const entries = entriesOf(sent);
  if (!entries || entries.length === 0) {
    const { file_name, content } = sent;
    if (file_name === undefined) throw missing("file_name");
    if (content === undefined) throw missing("content");
    return [{ path: pathOf(file_name), content }];
  }
  const actions = entries.map((entry, index) => {
    const { action = "create", file_path: path, content } = readObject(entry);
    if (action !== "create") throw badActions();
    if (path === undefined) throw missing(`files[${index}][file_path]`);
    if (content === undefined) throw missing(`files[${index}][content]`);
    return { action, path, previousPath: undefined, content };
  });
  return perform(new Map(), actions, "creating");
}

/**
 * The files of a snippet after a change; `undefined` if that is not about them.
 *
 * @param find finds those that there are
 * @throws ApiError 400 for a change that can't be made, 422 for one that lacks what it needs
 */
export async function changedFiles(
  sent: SentFiles,
  find: () => Promise<SnippetFiles>,
): Promise<SnippetFiles | undefined> {
  const entries = entriesOf(sent);
  if (entries) {
    if (entries.length === 0) return undefined;
    const actions = entries.map((entry, index) => {
      const { action, file_path: path, previous_path: previousPath, content } = readObject(entry);
      if (action === undefined) throw missing(`files[${index}][action]`);
      return { action, path, previousPath, content };
    });
    if (!actions.every(isComplete)) throw badActions();
    const files = new Map((await find()).map(({ path, content }) => [path, content]));
    return perform(files, actions, "updating");
  }
  const { file_name, content } = sent;
  if (file_name === undefined && content === undefined) return undefined;
  const [only, ...more] = await find();
  if (more.length > 0) {
    throw refused("To update Snippets with multiple files, you must use the `files` parameter");
  }
  const path = file_name === undefined ? only.path : pathOf(file_name);
  return [{ path, content: content ?? only.content }];
}

/** @throws ApiError 400 for a list together with the attributes of a single file */
function entriesOf({ file_name, content, files }: SentFiles): readonly Parameter[] | undefined {
  if (files === undefined) return undefined;
  if (file_name !== undefined) throw badRequest("file_name, files are mutually exclusive");
  if (content !== undefined) throw badRequest("content, files are mutually exclusive");
  return files;
}

function readObject(entry: Parameter) {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    throw invalid({ files: ["is invalid"] });
  }
  return readEntry(entry);
}

function badActions(): ApiError {
  return new ApiError(422, { message: { error: "Snippet actions have invalid data" } });
}

/** @throws ApiError 400 if files can't have this path */
function pathOf(given: string): string {
  try {
    return treePath(given);
  } catch (error) {
    throw error instanceof RefusedError ? refused(error.message) : error;
  }
}

/** Whether a change says what it needs, as in GitLab. */
function isComplete({ action, path, previousPath, content }: FileAction): boolean {
  switch (action) {
    case "create":
      return content !== undefined;
    case "update":
      return path !== undefined && content !== undefined && (previousPath ?? path) === path;
    case "move":
      return previousPath !== undefined && previousPath !== path;
    case "delete":
      return path !== undefined;
  }
}

/** Makes changes of files, and returns what there is then. @throws ApiError 400 if one is impossible */
function perform(
  files: Map<string, string>,
  actions: readonly FileAction[],
  work: "creating" | "updating",
): SnippetFiles {
  const impossible = (reason: string) =>
    refused(`Repository Error ${work} the snippet - ${reason}`);
  for (const { action, path: given, previousPath, content } of actions) {
    const path = given === undefined ? nextName(files.keys()) : pathOf(given);
    const from = action === "move" ? pathOf(previousPath ?? "") : path;
    const before = files.get(from);
    if (action !== "create") {
      if (before === undefined) throw impossible("A file with this name doesn't exist");
      files.delete(from);
    }
    if (action === "delete") continue;
    if (files.has(path)) throw impossible("A file with this name already exists");
    const folder = `${path}/`;
    for (const other of files.keys()) {
      if (other.startsWith(folder) || path.startsWith(`${other}/`)) {
        throw impossible("A directory with this name already exists");
      }
    }
    files.set(path, content ?? before ?? "");
  }
  const [first, ...more] = sorted(files);
  if (!first) throw impossible("The repository must contain at least 1 file.");
  if (more.length >= MOST_FILES) {
    throw impossible(`The repository can contain at most ${MOST_FILES} file(s).`);
  }
  return [first, ...more];
}

/** In the order of Git's trees, as the database has them, too. */
function sorted(files: ReadonlyMap<string, string>): SnippetFile[] {
  const byPath = [...files].map(([path, content]) => ({ path, content, key: Buffer.from(path) }));
  return byPath
    .sort((one, other) => one.key.compare(other.key))
    .map(({ path, content }) => ({ path, content }));
}

/** The name of a file that has none: GitLab's, with the next number. */
export function nextName(names: Iterable<string>): string {
  const numbers = [...names].map((name) => Number(/^snippetfile(\d)\.txt$/.exec(name)?.[1] ?? 0));
  return `snippetfile${Math.max(0, ...numbers) + 1}.txt`;
}
