import { invalid, notFound } from "../core/errors.ts";
import { UploadedFile } from "../core/http/upload.ts";
import type { Route } from "../core/resource.ts";
import { readFile } from "../files/read.ts";
import { partsOf } from "../git/trees.ts";
import { folders, isText, pathOf, place, revisionOf } from "./code.ts";
import type { ActionSpec, Shown, Visit } from "./declare.ts";
import { type FormField, type FormSpec, formPage } from "./forms.ts";

const COMMIT = "POST /projects/:id/repository/commits";

type Typed = Readonly<Record<string, string>>;

/** The branch that a change goes to: that of the page, or a new one if the visitor may not push there. */
async function branchOf({ place: project }: Shown, visit: Visit): Promise<unknown> {
  const { ref } = visit.parameters;
  const found = await visit.ask("GET /projects/:id/repository/branches/:branch", { branch: ref });
  const mayPush = found ? (found.value as Shown).can_push : project.empty_repo;
  return mayPush ? ref : `${visit.caller?.username}-patch-${String(visit.view.now).slice(-6)}`;
}

/** What all commits need. @param verb that its message begins with */
const commitFields = (verb: string): readonly FormField[] => [
  {
    ...{ name: "commit_message", label: "Commit message", kind: "lines" },
    value: (_, { parameters }) =>
      `${verb} ${parameters["path"] ? partsOf(String(parameters["path"])).at(-1) : "a file"}`,
  },
  {
    ...{ name: "branch", label: "To the branch", value: branchOf },
    hint: "A name that no branch has begins a new one here.",
  },
  {
    ...{ name: "asks_to_merge", label: "Go on with a merge request", kind: "flag" },
    ...{ hint: "If the branch is new", value: () => true },
  },
];

/** What the API gets of a change of a file. */
const commitOf = ({ ref, branch, commit_message }: Typed, action: object) => ({
  ...{ branch, commit_message, actions: [action] },
  ...(branch !== ref && { start_branch: ref }),
});

/** Where a commit leads: to a merge request of the branch that began with it, or to a page of the branch. */
const after =
  (path: (typed: Typed) => string): ActionSpec["to"] =>
  (_, parameters) => {
    const typed = parameters as Typed & { asks_to_merge?: unknown };
    const { ref = "", branch = "" } = typed;
    if (branch === ref || String(typed.asks_to_merge) !== "true") return path(typed);
    const asked = new URLSearchParams({
      "merge_request[source_branch]": branch,
      "merge_request[target_branch]": ref,
    });
    return `/-/merge_requests/new?${asked}`;
  };

/** What pages of a file, or of a folder, have in common. */
const inPlace = {
  of: "project",
  input: place,
  performs: COMMIT,
  steps: (_: Shown, { parameters }: Visit) => {
    const [ref, path] = [String(parameters["ref"]), String(parameters["path"] ?? "")];
    return [[ref, pathOf("tree", ref)], ...folders(ref, path)] as const;
  },
} as const;

/** As much of a file as a form may send, in bytes: each may take three as it is sent. */
const MOST = 4 * 1024 * 1024;

/** What can be edited of a file. */
function textOf({ found }: Shown): string {
  if (!isText(found)) throw notFound("File");
  return Buffer.from(found.content, "base64").toString();
}

const CONTENT: FormField = { name: "content", label: "Content", kind: "code", isOptional: true };

/** By which it is seen that somebody else was faster. Whoever was told so may go on nevertheless, as in GitLab. */
const LAST_COMMIT: FormField = {
  ...{ name: "last_commit_id", label: "Last commit", kind: "hidden", isFound: true },
};

const found: Pick<FormSpec, "find" | "shows"> = {
  find: revisionOf("ref", "path"),
  shows: { found: ["GET /projects/:id/repository/files/:file_path", { file_path: "path" }] },
};

const blobOf = ({ branch = "", file_path = "" }: Typed) => pathOf("blob", branch, file_path);

/** Forms in which files are changed. */
export const codeForms: readonly Route[] = [
  ...formPage({
    ...{ ...inPlace, path: "/-/new/:place*", summary: "Create a file", maxBodyBytes: MOST },
    find: revisionOf("ref", "path"),
    fields: [
      {
        ...{ name: "file_path", label: "Path" },
        value: (_, { parameters }) => (parameters["path"] ? `${parameters["path"]}/` : ""),
      },
      CONTENT,
      ...commitFields("Add"),
    ],
    title: () => "New file",
    button: "Commit",
    sends: (sent) => {
      const typed = sent as Typed;
      const { file_path, content } = typed;
      if (!file_path || file_path.endsWith("/")) throw invalid({ file_path: ["is no file name"] });
      return commitOf(typed, { action: "create", file_path, content });
    },
    to: after(blobOf),
  }),
  ...formPage({
    ...{ ...inPlace, ...found, path: "/-/edit/:place*", summary: "Change a file" },
    maxBodyBytes: MOST,
    fields: [
      { name: "file_path", label: "Path", value: (_, { parameters }) => parameters["path"] },
      { ...CONTENT, value: textOf },
      {
        ...{ name: "ends", label: "Ends of lines", kind: "hidden" },
        value: (shown) => (textOf(shown).includes("\r\n") ? "CRLF" : "LF"),
      },
      LAST_COMMIT,
      ...commitFields("Update"),
    ],
    may: (shown) => textOf(shown) !== undefined,
    title: (_, { parameters }) => `Edit ${partsOf(String(parameters["path"])).at(-1)}`,
    button: "Commit",
    sends: (sent) => {
      const typed = sent as Typed;
      const { path, file_path = path, ends, content = "", last_commit_id } = typed;
      const text = ends === "CRLF" ? content.replaceAll("\n", "\r\n") : content;
      return commitOf(typed, {
        ...(file_path === path ? { action: "update" } : { action: "move", previous_path: path }),
        ...{ file_path, content: text, last_commit_id },
      });
    },
    to: after(blobOf),
  }),
  ...formPage({
    ...{ ...inPlace, ...found, path: "/-/delete/:place*", summary: "Delete a file" },
    fields: [LAST_COMMIT, ...commitFields("Delete")],
    may: (shown) => shown.found !== undefined,
    title: (_, { parameters }) => `Delete ${partsOf(String(parameters["path"])).at(-1)}`,
    button: "Delete file",
    sends: (sent) => {
      const typed = sent as Typed;
      const { path: file_path, last_commit_id } = typed;
      return commitOf(typed, { action: "delete", file_path, last_commit_id });
    },
    to: after(({ branch = "" }) => pathOf("tree", branch)),
  }),
  ...formPage({
    ...{ ...inPlace, path: "/-/upload/:place*", summary: "Upload a file" },
    find: revisionOf("ref", "path"),
    upload: { part: "file" },
    fields: [{ name: "file", label: "File", kind: "file" }, ...commitFields("Upload")],
    title: () => "Upload a file",
    button: "Commit",
    sends: async (sent, { reader }) => {
      const { file, path } = sent as { file?: unknown; path?: string };
      if (!(file instanceof UploadedFile)) throw invalid({ file: ["is missing"] });
      const pieces: Uint8Array[] = [];
      for await (const piece of readFile(reader(), file)) pieces.push(piece);
      const content = Buffer.concat(pieces).toString("base64");
      const file_path = [path, file.name].filter(Boolean).join("/");
      return commitOf(sent as Typed, { action: "create", file_path, content, encoding: "base64" });
    },
    to: after(({ branch = "", path }) => pathOf("tree", branch, path)),
  }),
];
