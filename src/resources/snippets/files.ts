import { badRequest, invalid } from "../../core/errors.ts";
import type { Parameter } from "../../core/http/parameters.ts";
import * as param from "../../core/input.ts";

/** The attributes of a snippet's one file: by itself or, as newer clients send it, as the entry of a list. */
export const fileInput = {
  file_name: param.unlessBlank(param.text()),
  content: param.optional(param.text({ max: param.LONG_TEXT })),
  files: param.optional(
    param.arrayOf(param.json("the snippet's one file: file_path, content, previous_path, action"), {
      max: 10,
    }),
  ),
};

const readEntry = param.inputReader({
  action: param.optional(param.choice(["create", "update", "move", "delete"])),
  file_path: fileInput.file_name,
  previous_path: fileInput.file_name,
  content: fileInput.content,
});

interface SentFile {
  file_name?: string | undefined;
  content?: string | undefined;
  files?: readonly Parameter[] | undefined;
}

/**
 * The name and the content of a snippet's file, as a client sent them.
 *
 * @param before the name of the file that is changed; `undefined` for a new snippet
 * @throws ApiError 400 for several files, and if one is deleted, or added to the one that there is
 */
export function sentFile({ file_name, content, files }: SentFile, before?: string) {
  if (files === undefined) return { file_name, content };
  if (file_name !== undefined) throw badRequest("file_name, files are mutually exclusive");
  if (content !== undefined) throw badRequest("content, files are mutually exclusive");
  const [sent] = files;
  if (sent === undefined) return {};
  if (files.length > 1) throw invalid({ files: ["must be one: a snippet has one file"] });
  if (typeof sent !== "object" || sent === null || Array.isArray(sent)) {
    throw invalid({ files: ["is invalid"] });
  }
  const { action, file_path, previous_path = file_path, ...rest } = readEntry(sent);
  const file = { file_name: file_path, content: rest.content };
  if (before === undefined) {
    if (action !== undefined && action !== "create") {
      throw invalid({ files: ["can only be created"] });
    }
    return file;
  }
  if (action === "create" || action === "delete") {
    throw invalid({ files: ["can only be updated or moved: a snippet has one file"] });
  }
  if (previous_path !== undefined && previous_path !== before) {
    throw invalid({ files: [`has no ${previous_path}`] });
  }
  return file;
}
