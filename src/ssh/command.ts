import type { Service } from "../git-http/access.ts";
import { OWN, type Own } from "./own.ts";

/** What clients ask for by the name of a program. */
const PROGRAMS = ["git-upload-pack", "git-receive-pack", "git-upload-archive"] as const;

/** The programs that clients run over SSH. */
export type Program = (typeof PROGRAMS)[number];

/** The service of Git whose rights a program needs. */
export const SERVICE_OF: Readonly<Record<Program, Service>> = {
  "git-upload-pack": "git-upload-pack",
  "git-receive-pack": "git-receive-pack",
  "git-upload-archive": "git-upload-pack",
};

/** What a client wants to be done. */
export type Command =
  | { readonly kind: "git"; readonly program: Program; readonly path: string }
  | { readonly kind: "lfs"; readonly path: string; readonly operation: string }
  | { readonly kind: "own"; readonly name: Own; readonly args: readonly string[] }
  | { readonly kind: "welcome" }
  | { readonly kind: "unknown"; readonly text: string }
  | { readonly kind: "unreadable"; readonly text: string };

/** Characters of a command that are told again. */
const SHOWN = 200;

/**
 * Reads a command as GitLab does: in words like those of a shell, of which nothing is expanded.
 *
 * @param line `undefined` if the client wants a shell
 */
export function readCommand(line: string | undefined): Command {
  if (line === undefined || line.trim() === "") return { kind: "welcome" };
  const text = shown(line);
  const words = wordsOf(line);
  if (!words) return { kind: "unreadable", text };
  // As Git for Windows says it.
  const joined = words[0] === "git" && words.length > 1;
  const [name = "", ...args] = joined ? [`git-${words[1]}`, ...words.slice(2)] : words;
  const [path = "", operation = ""] = args;
  const program = PROGRAMS.find((one) => one === name);
  if (program && args.length === 1) return { kind: "git", program, path: projectPathOf(path) };
  if (name === "git-lfs-authenticate" && args.length >= 2) {
    return { kind: "lfs", path: projectPathOf(path), operation };
  }
  if (isOwn(name)) return { kind: "own", name, args };
  return { kind: "unknown", text };
}

const isOwn = (name: string): name is Own => Object.hasOwn(OWN, name);

/** In one line, without what terminals would take for commands. */
const shown = (line: string) => line.replace(/\p{Cc}/gu, " ").slice(0, SHOWN);

/** The path of a project, or with `.wiki` of its wiki: with or without a slash before it and `.git` after it. */
function projectPathOf(path: string): string {
  let start = 0;
  let end = path.length;
  while (start < end && path[start] === "/") start += 1;
  while (end > start && path[end - 1] === "/") end -= 1;
  const trimmed = path.slice(start, end);
  return trimmed.endsWith(".git") ? trimmed.slice(0, -".git".length) : trimmed;
}

/** The words of a line; `undefined` if a quote is not closed, or a backslash is its end. */
function wordsOf(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at] as string;
    if (quote === "'") {
      if (char === "'") quote = "";
      else word += char;
    } else if (char === "\\") {
      const next = line[at + 1];
      if (next === undefined) return undefined;
      const isPlain = quote === '"' && !'"\\$`'.includes(next);
      word = (word ?? "") + (isPlain ? char : "") + next;
      at += 1;
    } else if (char === '"') {
      quote = quote === "" ? char : "";
      word ??= "";
    } else if (quote === "" && char === "'") {
      quote = char;
      word ??= "";
    } else if (quote === "" && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + char;
  }
  if (quote !== "") return undefined;
  if (word !== undefined) words.push(word);
  return words;
}
