import { badRequest, invalid } from "../../core/errors.ts";
import type { Parameter } from "../../core/http/parameters.ts";
import { ACTIONS, type FileAction } from "../repositories/actions.ts";
import { contentOf, ENCODINGS } from "../repositories/content.ts";

/** An action as a client sent it, and the last commit of its file that the client knows. */
export interface SentAction extends FileAction {
  readonly lastCommitId: string | undefined;
}

/**
 * Reads the actions of a commit.
 *
 * @param sent what the client sent, as entries of a list
 * @throws ApiError 400 naming what is wrong first
 */
export function readActions(sent: readonly Parameter[]): SentAction[] {
  return sent.map((entry, index) => {
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
      throw invalid({ actions: ["is invalid"] });
    }
    return readAction(entry, `actions[${index}]`);
  });
}

function readAction(entry: { readonly [key: string]: Parameter }, where: string): SentAction {
  const text = (name: string) => {
    const value = entry[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value === "object") throw badRequest(`${where}[${name}] is invalid`);
    return String(value);
  };
  const required = (name: string, reason = "") => {
    const value = text(name);
    if (value === undefined) throw badRequest(`${where}[${name}] is required${reason}`);
    return value;
  };
  const named = required("action");
  const action = ACTIONS.find((name) => name === named);
  if (!action) throw badRequest(`${where}[action] must be one of: ${ACTIONS.join(", ")}`);
  const reason = ` for ${action} action`;
  const path = required("file_path");
  const previousPath = action === "move" ? required("previous_path", reason) : undefined;
  const content = action === "update" ? required("content", reason) : text("content");
  const mode = action === "chmod" ? required("execute_filemode", reason) : text("execute_filemode");
  if (mode !== undefined && !(mode in MODES)) {
    throw badRequest(`${where}[execute_filemode] must be a boolean`);
  }
  const sentEncoding = text("encoding") ?? "text";
  const encoding = ENCODINGS.find((name) => name === sentEncoding);
  if (!encoding) throw badRequest(`${where}[encoding] must be ${ENCODINGS.join(" or ")}`);
  const takesContent = action !== "delete" && action !== "chmod";
  return {
    action,
    path,
    previousPath,
    content: takesContent && content !== undefined ? contentOf(content, encoding) : undefined,
    isExecutable: mode === undefined ? undefined : MODES[mode],
    lastCommitId: text("last_commit_id"),
  };
}

const MODES: Readonly<Record<string, boolean>> = { true: true, false: false, 1: true, 0: false };
