// Projects with code, and merge requests of it.
import { expect } from "vitest";
import type { Person, TestApp } from "../helpers.ts";

/** Contents by path; `null` deletes a file. */
type Files = Readonly<Record<string, string | null>>;

/** A project with code. */
export interface CodeProject {
  readonly id: number;
  /** Its path in URLs. */
  readonly path: string;
  readonly fullPath: string;
  /**
   * Commits to a branch, and returns the commit's name.
   *
   * @param from the branch that a new one starts from
   */
  commit(branch: string, files: Files, options?: CommitOptions): Promise<string>;
  /** Opens a merge request, which must be possible, and returns it. */
  open(source: string, json?: object, as?: Person): Promise<Answer["json"]>;
  get(path: string, as?: Person): Promise<Answer>;
  send(method: string, path: string, json?: object, as?: Person): Promise<Answer>;
}

type Answer = Awaited<ReturnType<TestApp["call"]>>;

interface CommitOptions {
  readonly from?: string;
  readonly message?: string;
  readonly as?: Person;
}

/** The project at a path, whose code tests change. */
export function codeProject(app: TestApp, id: number, fullPath: string): CodeProject {
  const path = `/projects/${id}`;
  /** What the branches have, so that files that exist are updated. */
  const known = new Map<string, Set<string>>();
  const send: CodeProject["send"] = (method, below, json = {}, as = "developer") =>
    app.call(`${method} ${path}${below}`, { as, json });
  return {
    id,
    path,
    fullPath,
    send,
    get: (below, as = "developer") => app.call(`GET ${path}${below}`, { as }),
    async commit(branch, files, { from, message = "Change", as = "maintainer" } = {}) {
      const there = known.get(branch) ?? new Set(known.get(from ?? "main"));
      const actions = Object.entries(files).map(([file_path, content]) => {
        const isKnown = there.has(file_path);
        if (content === null) there.delete(file_path);
        else there.add(file_path);
        const action = content === null ? "delete" : isKnown ? "update" : "create";
        return { action, file_path, ...(content !== null && { content }) };
      });
      const json = {
        branch,
        commit_message: message,
        actions,
        ...(from !== undefined && { start_branch: from }),
      };
      const answer = await send("POST", "/repository/commits", json, as);
      expect(answer.status, answer.text).toBe(201);
      known.set(branch, there);
      return answer.json.id;
    },
    async open(source_branch, json = {}, as = "developer") {
      const sent = { title: "A change", source_branch, target_branch: "main", ...json };
      const answer = await send("POST", "/merge_requests", sent, as);
      expect(answer.status, answer.text).toBe(201);
      return answer.json;
    },
  };
}

let projects = 0;

/** A new project of the group `secret`, whose unprotected branch `main` has the file `a.txt`. */
export async function newCodeProject(app: TestApp): Promise<CodeProject> {
  projects += 1;
  const { json: group } = await app.call("GET /groups/secret", { as: "owner" });
  const json = { name: `code${projects}`, namespace_id: group.id };
  const { json: made } = await app.call("POST /projects", { as: "owner", json });
  const project = codeProject(app, made.id, made.path_with_namespace);
  await project.commit("main", { "a.txt": lines(20) });
  await project.send("DELETE", "/protected_branches/main", {}, "maintainer");
  return project;
}

/** Numbered lines. */
export const lines = (count: number, changes: Readonly<Record<number, string>> = {}): string =>
  Array.from({ length: count }, (_, at) => `${changes[at + 1] ?? `line ${at + 1}`}\n`).join("");
