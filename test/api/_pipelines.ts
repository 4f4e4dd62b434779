import { expect } from "vitest";
import type { Answer, CallOptions, TestApp } from "../helpers.ts";

/** A private project with a configuration on its default branch, which is not protected, and its newest commit. */
export interface CiProject {
  readonly id: number;
  readonly path: string;
  readonly sha: string;
  /** Calls a path below the project. */
  call(request: string, options?: CallOptions): Promise<Answer>;
  /** Commits a file to the default branch, and returns the commit's name. */
  commit(file: string, content: string, message?: string): Promise<string>;
}

/** Lets older pipelines of a project go on when there are newer ones. */
export async function keepOlder({ call }: CiProject): Promise<void> {
  const json = { auto_cancel_pending_pipelines: "disabled" };
  const { status, text } = await call("PUT ", { as: "owner", json });
  if (status !== 200) throw new Error(text);
}

/** A configuration with a job in each of three stages, of which the last one waits for somebody. */
export const THREE_STAGES = `
compile:
  stage: build
  script: [make]
check:
  script: [make test]
publish:
  stage: deploy
  when: manual
  script: [make publish]
`;

/**
 * Makes a project in the group `secret`.
 *
 * @param configuration its `.gitlab-ci.yml`, if it has one
 */
export async function ciProject(
  app: TestApp,
  name: string,
  configuration: string | undefined,
): Promise<CiProject> {
  const { json: group } = await app.call("GET /groups/secret", { as: "owner" });
  const made = await app.call("POST /projects", {
    as: "owner",
    json: { name, path: name, namespace_id: group.id, default_branch: "main" },
  });
  const path = `/projects/${made.json.id}`;
  const call: CiProject["call"] = (request, options) => {
    const [method, rest] = request.split(" ", 2);
    return app.call(`${method} ${path}${rest}`, options);
  };
  let isNew = true;
  const commit: CiProject["commit"] = async (file, content, message = `Write ${file}`) => {
    const known = await call(`GET /repository/files/${encodeURIComponent(file)}?ref=main`, {
      as: "owner",
    });
    const action = known.status === 200 ? "update" : "create";
    const { status, text, json } = await call("POST /repository/commits", {
      as: "owner",
      json: {
        branch: "main",
        commit_message: message,
        actions: [{ action, file_path: file, content }],
      },
    });
    if (status !== 201) throw new Error(text);
    if (isNew) await call("DELETE /protected_branches/main", { as: "owner" });
    isNew = false;
    return json.id;
  };
  const first = await commit("README.md", "# A project\n", "Begin [skip ci]");
  const sha =
    configuration === undefined
      ? first
      : await commit(".gitlab-ci.yml", configuration, "Configure [skip ci]");
  return { id: made.json.id, path, sha, call, commit };
}

/** Registers a runner of a project, and returns its token. */
export async function runnerOf(app: TestApp, project: CiProject): Promise<string> {
  const json = { runner_type: "project_type", project_id: project.id };
  return (await app.call("POST /user/runners", { as: "owner", json })).json.token;
}

/** Takes the next job of a runner. */
export async function takeJob(app: TestApp, token: string): Promise<Answer["json"]> {
  const { json: job } = await app.call("POST /jobs/request", { json: { token } });
  expect(job?.token).toBeDefined();
  return job;
}

/** Sends the archive of a job's artifacts. */
export async function sendArtifacts(
  app: TestApp,
  job: { readonly id: number; readonly token: string },
  archive: Buffer<ArrayBuffer>,
): Promise<void> {
  const body = new FormData();
  body.append("file", new Blob([archive]), "artifacts.zip");
  const query = "artifact_format=zip&artifact_type=archive";
  const sent = await app.call(`POST /jobs/${job.id}/artifacts?${query}`, {
    headers: { "job-token": job.token },
    body,
  });
  expect(sent.status, sent.text).toBe(201);
}
