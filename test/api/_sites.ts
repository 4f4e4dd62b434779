import { expect } from "vitest";
import type { TestApp } from "../helpers.ts";
import { type CiProject, ciProject, runnerOf, sendArtifacts, takeJob } from "./_pipelines.ts";
import { zipped } from "./_zip.ts";

/** A job that publishes what is in `public`. */
export const PAGES = "pages: { script: [make] }";

/** The files of a site, by their paths in the archive. */
export const SITE = {
  "public/index.html": "<h1>Home</h1>",
  "public/404.html": "<h1>Nowhere</h1>",
  "public/about.html": "<h1>About</h1>",
  "public/docs/index.html": "<h1>Docs</h1>",
  "public/docs/a b.txt": "a and b",
  "public/app.js": "alert(1)",
  "other/secret.txt": "not published",
};

/** Runs the pages job of a project, and returns the answer about its pipeline's `pages:deploy`. */
export async function publish(
  app: TestApp,
  project: CiProject,
  archive: Buffer<ArrayBuffer> | undefined,
  ref = "main",
) {
  const runner = await runnerOf(app, project);
  const { json: pipeline } = await project.call(`POST /pipeline?ref=${ref}`, { as: "owner" });
  const job = await takeJob(app, runner);
  if (archive) await sendArtifacts(app, job, archive);
  await app.call(`PUT /jobs/${job.id}`, { json: { token: job.token, state: "success" } });
  const between = await statusOf(app, project, pipeline);
  await app.admin.maintenance.runPipelines();
  return { job, between, ...(await statusOf(app, project, pipeline)) };
}

async function statusOf(
  _app: TestApp,
  project: CiProject,
  { id, sha }: { id: number; sha: string },
) {
  const statuses = await project.call(
    `GET /repository/commits/${sha}/statuses?pipeline_id=${id}&name=pages%3Adeploy`,
    { as: "owner" },
  );
  const pipeline = await project.call(`GET /pipelines/${id}`, { as: "owner" });
  return { deploy: statuses.json[0], pipeline: pipeline.json.status as string };
}

/** A project whose site is published, and which everybody sees. */
export async function siteProject(
  app: TestApp,
  name: string,
  files: Readonly<Record<string, string | Buffer>> = SITE,
): Promise<CiProject> {
  const project = await ciProject(app, name, PAGES);
  await project.call("PUT ", { as: "owner", json: { pages_access_level: "public" } });
  const { deploy } = await publish(app, project, zipped(files));
  expect(deploy).toMatchObject({ status: "success" });
  return project;
}
