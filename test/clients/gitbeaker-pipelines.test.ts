import { describe, expect, it } from "vitest";
import type { Seed } from "../../src/testing.ts";
import { refusal, serving, users } from "./gitbeaker.ts";

const seed: Seed = {
  users,
  groups: [
    {
      path: "acme",
      members: { ann: "owner", bob: "developer" },
      projects: [
        {
          path: "site",
          creator: "ann",
          default_branch: "main",
          pushes: [
            {
              author: "ann",
              ref: "main",
              commits: [
                {
                  message: "Begin",
                  files: { ".gitlab-ci.yml": "job:\n  script: [make]\n" },
                },
              ],
            },
          ],
        },
      ],
    },
  ],
};

const { ann, bob, root, server } = await serving(seed, 20);
const SITE = "acme/site";

describe("gitbeaker", () => {
  it("keeps variables of projects and groups", async () => {
    await ann.ProjectVariables.create(SITE, "TOKEN", "of all");
    await ann.ProjectVariables.create(SITE, "TOKEN", "of staging", {
      environmentScope: "staging",
      protected: true,
    });
    expect(await ann.ProjectVariables.all(SITE)).toHaveLength(2);
    const filter = { environment_scope: "staging" };
    const one = await ann.ProjectVariables.show(SITE, "TOKEN", { filter });
    expect(one).toMatchObject({ value: "of staging", protected: true });
    await ann.ProjectVariables.edit(SITE, "TOKEN", "changed", { filter });
    await ann.ProjectVariables.remove(SITE, "TOKEN", { filter: { environment_scope: "*" } });
    expect(await ann.ProjectVariables.show(SITE, "TOKEN")).toMatchObject({ value: "changed" });
    await ann.GroupVariables.create("acme", "SHARED", "value-to-mask", { masked: true });
    expect(await ann.GroupVariables.show("acme", "SHARED")).toMatchObject({ masked: true });
    expect(await refusal(bob.ProjectVariables.all(SITE))).toEqual([403, "403 Forbidden"]);
  });

  it("records deployments and stops environments", async () => {
    const made = await bob.Environments.create(SITE, "review/one", {
      externalUrl: "https://one.example.com",
    });
    expect(made).toMatchObject({ slug: expect.stringMatching(/^review-one-/), state: "available" });
    const { id: sha } = await bob.Commits.show(SITE, "main");
    const deployment = await bob.Deployments.create(SITE, "review/one", sha, "main", false, {
      status: "running",
    });
    await bob.Deployments.edit(SITE, deployment.id, "success");
    const shown = await bob.Environments.show(SITE, made.id);
    expect(shown).toMatchObject({ last_deployment: { id: deployment.id, status: "success" } });
    expect(await bob.Deployments.all(SITE, { environment: "review/one" })).toHaveLength(1);
    expect(await bob.Environments.stop(SITE, made.id)).toMatchObject({ state: "stopped" });
    await bob.Environments.remove(SITE, made.id);
    expect(await bob.Environments.all(SITE)).toEqual([]);
  });

  it("starts pipelines by a trigger and by a schedule", async () => {
    const trigger = await ann.PipelineTriggerTokens.create(SITE, "From elsewhere");
    const started = await ann.PipelineTriggerTokens.trigger(SITE, "main", trigger.token, {
      variables: { A: "b" },
    });
    expect(started).toMatchObject({ ref: "main", source: "trigger" });
    await ann.PipelineTriggerTokens.remove(SITE, trigger.id);
    const schedule = await ann.PipelineSchedules.create(SITE, "Nightly", "main", "0 1 * * *");
    await ann.PipelineScheduleVariables.create(SITE, schedule.id, "A", "b");
    await ann.PipelineSchedules.run(SITE, schedule.id);
    const shown = await ann.PipelineSchedules.show(SITE, schedule.id);
    expect(shown).toMatchObject({
      active: true,
      last_pipeline: { ref: "main" },
      variables: [{ key: "A", value: "b" }],
    });
    expect(await ann.PipelineSchedules.allTriggeredPipelines(SITE, schedule.id)).toHaveLength(1);
    await ann.PipelineSchedules.remove(SITE, schedule.id);
    expect(await ann.PipelineSchedules.all(SITE)).toEqual([]);
  });
});

describe("gitbeaker and a runner", () => {
  /** A runner of the project, and its next job. */
  async function claim(): Promise<{ id: number; token: string }> {
    const { id: projectId } = await ann.Projects.show(SITE);
    const { token } = (await ann.Users.createCIRunner("project_type", {
      projectId: projectId as number,
    })) as { token: string };
    const got = await fetch(`${server.url}/api/v4/jobs/request`, {
      method: "POST",
      headers: { "content-type": "application/json", "runner-token": token },
      body: JSON.stringify({ token, system_id: "s_1" }),
    });
    return (await got.json()) as { id: number; token: string };
  }

  it("runs, cancels, retries and removes pipelines, and reads their jobs", async () => {
    const variables = [{ key: "A", value: "1" }];
    const pipeline = await ann.Pipelines.create(SITE, "main", { variables });
    expect(await ann.Pipelines.allVariables(SITE, pipeline.id)).toMatchObject(variables);
    expect((await bob.Pipelines.showLatest(SITE)).id).toBe(pipeline.id);
    expect(await bob.Pipelines.all(SITE, { scope: "pending", ref: "main" })).toHaveLength(1);
    expect(await bob.Pipelines.all(SITE, { status: "pending" })).toHaveLength(1);
    const [job] = await bob.Jobs.all(SITE, { pipelineId: pipeline.id, scope: "pending" });
    expect(job).toMatchObject({ name: "job", stage: "test", pipeline: { id: pipeline.id } });
    expect((await ann.Pipelines.cancel(SITE, pipeline.id)).status).toBe("canceled");
    expect((await ann.Pipelines.retry(SITE, pipeline.id)).status).toBe("pending");
    const all = { pipelineId: pipeline.id, includeRetried: true };
    expect(await bob.Jobs.all(SITE, all)).toHaveLength(2);
    const summary = await bob.Pipelines.showTestReportSummary(SITE, pipeline.id);
    expect(summary.total).toMatchObject({ count: 0 });
    expect(await refusal(bob.Pipelines.remove(SITE, pipeline.id))).toEqual([403, "403 Forbidden"]);
    await ann.Pipelines.remove(SITE, pipeline.id);
    expect(await ann.Jobs.all(SITE)).toEqual([]);
  });

  it("reads logs and artifacts of jobs, keeps and removes them", async () => {
    const { id: pipelineId } = await ann.Pipelines.create(SITE, "main");
    const { id, token } = await claim();
    const at = `${server.url}/api/v4/jobs/${id}`;
    const headers = { "job-token": token };
    await fetch(`${at}/trace`, {
      method: "PATCH",
      headers: { ...headers, "content-range": "0-4", "content-type": "text/plain" },
      body: "hello",
    });
    const form = new FormData();
    form.append("file", new Blob(["PK"]), "artifacts.zip");
    await fetch(`${at}/artifacts?artifact_type=archive`, { method: "POST", headers, body: form });
    await fetch(at, {
      method: "PUT",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ token, state: "success" }),
    });
    expect(await bob.Jobs.show(SITE, id)).toMatchObject({ status: "success", ref: "main" });
    expect(await bob.Jobs.showLog(SITE, id)).toBe("hello");
    const archive = await bob.JobArtifacts.downloadArchive(SITE, { jobId: id });
    expect(await (archive as Blob).text()).toBe("PK");
    const newest = await bob.JobArtifacts.downloadArchive(SITE, { ref: "main", job: "job" });
    expect(await (newest as Blob).text()).toBe("PK");
    expect((await bob.JobArtifacts.keep(SITE, id)).artifacts_expire_at).toBeNull();
    await ann.JobArtifacts.remove(SITE, { jobId: id });
    const none = bob.JobArtifacts.downloadArchive(SITE, { jobId: id });
    expect((await refusal(none))[0]).toBe(404);
    expect((await ann.Jobs.erase(SITE, id)).erased_at).not.toBeNull();
    expect((await bob.Pipelines.show(SITE, pipelineId)).status).toBe("success");
  });

  it("reports statuses of commits", async () => {
    const { commit } = await bob.Branches.show(SITE, "main");
    await ann.Commits.editStatus(SITE, commit.id, "running", { name: "external" });
    await ann.Commits.editStatus(SITE, commit.id, "success", {
      name: "external",
      targetUrl: "https://ci.example.com/1",
      coverage: 87.5,
    });
    expect(await bob.Commits.allStatuses(SITE, commit.id)).toMatchObject([
      { name: "external", status: "success", coverage: 87.5 },
    ]);
    expect(await bob.Pipelines.all(SITE)).toMatchObject([{ source: "external" }]);
  });

  it("lists, changes, lends and removes runners", async () => {
    await ann.Users.createCIRunner("project_type", {
      projectId: (await ann.Projects.show(SITE)).id as number,
    });
    const [runner] = await ann.Runners.all({ projectId: SITE });
    const id = runner?.id as number;
    const changed = await ann.Runners.edit(id, { description: "Fast", tagList: ["linux"] });
    expect(changed).toMatchObject({ description: "Fast", tag_list: ["linux"] });
    expect(await ann.Runners.show(id)).toMatchObject({ runner_type: "project_type" });
    expect(await ann.Runners.allJobs(id)).toEqual([]);
    expect(await ann.Runners.all({ owned: true })).toHaveLength(1);
    expect(await root.Runners.all()).toHaveLength(1);
    await ann.Runners.remove({ runnerId: id });
    expect(await ann.Runners.all({ projectId: SITE })).toEqual([]);
  });

  it("lints configurations", async () => {
    const good = await bob.Lint.lint(SITE, "job: {script: [make]}");
    expect(good).toMatchObject({ valid: true, errors: [] });
    const bad = await bob.Lint.lint(SITE, "job: {stage: test}");
    expect(bad).toMatchObject({
      valid: false,
      errors: [expect.stringContaining("script:"), expect.anything()],
    });
    expect(await bob.Lint.check(SITE, {})).toMatchObject({ valid: true });
  });

  it("keeps variables of the instance", async () => {
    await root.InstanceLevelCICDVariables.create("OF_ALL", "1");
    await root.InstanceLevelCICDVariables.edit("OF_ALL", "2", { protected: true });
    expect(await root.InstanceLevelCICDVariables.show("OF_ALL")).toMatchObject({ value: "2" });
    expect(await root.InstanceLevelCICDVariables.all()).toHaveLength(1);
    expect((await refusal(ann.InstanceLevelCICDVariables.all()))[0]).toBe(403);
  });
});

describe("gitbeaker and webhooks", () => {
  const url = "https://hooks.example.invalid/in";

  it("adds, changes and removes those of projects and groups", async () => {
    for (const [hooks, owner] of [
      [ann.ProjectHooks, SITE],
      [ann.GroupHooks, "acme"],
    ] as const) {
      const made = await hooks.add(owner, url, { issuesEvents: true, token: "s3cret" });
      expect(made).toMatchObject({ url, issues_events: true, push_events: true });
      const changed = await hooks.edit(owner, made.id, `${url}/new`, { pipelineEvents: true });
      expect(changed).toMatchObject({ url: `${url}/new`, pipeline_events: true });
      expect(await hooks.show(owner, made.id)).toEqual(changed);
      expect(await hooks.all(owner)).toHaveLength(1);
      await hooks.remove(owner, made.id);
      expect(await hooks.all(owner)).toEqual([]);
    }
    expect((await refusal(bob.ProjectHooks.all(SITE)))[0]).toBe(403);
    expect(await refusal(ann.ProjectHooks.add(SITE, "ftp://a"))).toEqual([422, expect.anything()]);
  });

  it("adds, tests and removes those of the instance", async () => {
    const made = await root.SystemHooks.create(url, { pushEvents: true });
    expect(made).toMatchObject({ url, push_events: true });
    expect(await root.SystemHooks.test(made.id)).toMatchObject({ event_name: "project_create" });
    await root.SystemHooks.remove(made.id);
    expect(await root.SystemHooks.all()).toEqual([]);
  });
});

describe("gitbeaker and what is around projects", () => {
  it("searches, renders Markdown and reads templates", async () => {
    await bob.Issues.create(SITE, "A needle in here");
    for (const found of [
      await bob.Search.all("issues", "needle"),
      await bob.Search.all("issues", "needle", { projectId: SITE }),
      await bob.Search.all("issues", "needle", { groupId: "acme" }),
    ]) {
      expect(found).toMatchObject([{ title: "A needle in here" }]);
    }
    const { html } = await bob.Markdown.render("**x** #1", { gfm: "true", project: SITE });
    expect(html).toMatch(/<strong>x<\/strong>.*<a /);
    expect((await bob.GitignoreTemplates.all({ perPage: 100, maxPages: 1 })).length).toBe(100);
    expect(await bob.GitLabCIYMLTemplates.show("Bash")).toMatchObject({ name: "Bash" });
    expect((await bob.DockerfileTemplates.all()).length).toBeGreaterThan(5);
  });

  it("keeps domains of sites", async () => {
    const domain = "docs.example.com";
    const made = await ann.PagesDomains.create(SITE, domain);
    expect(made).toMatchObject({ domain, url: `http://${domain}`, verified: false });
    expect(await ann.PagesDomains.all({ projectId: SITE })).toEqual([made]);
    expect(await root.PagesDomains.all()).toMatchObject([{ domain }]);
    expect(await ann.PagesDomains.show(SITE, domain)).toEqual(made);
    await ann.PagesDomains.remove(SITE, domain);
    expect(await ann.PagesDomains.all({ projectId: SITE })).toEqual([]);
    expect(await refusal(bob.PagesDomains.all())).toEqual([403, "403 Forbidden"]);
  });

  it("keeps deploy tokens", async () => {
    for (const of of [{ projectId: SITE }, { groupId: "acme" }]) {
      const made = await ann.DeployTokens.create("Puller", ["read_repository"], of);
      expect(made).toMatchObject({ name: "Puller", token: expect.any(String) });
      expect(await ann.DeployTokens.all(of)).toHaveLength(1);
      expect(await ann.DeployTokens.show(made.id, of)).toMatchObject({ username: made.username });
      await ann.DeployTokens.remove(made.id, of);
      expect(await ann.DeployTokens.all(of)).toEqual([]);
    }
  });

  it("invites people, and lets others ask for access", async () => {
    const email = "new@example.com";
    const invited = await ann.ProjectInvitations.add(SITE, 30, { email });
    expect(invited).toMatchObject({ status: "success" });
    expect(await ann.ProjectInvitations.all(SITE)).toMatchObject([{ invite_email: email }]);
    await ann.ProjectInvitations.remove(SITE, email);
    await ann.Groups.edit("acme", { visibility: "public" });
    const { id } = await root.GroupAccessRequests.request("acme");
    expect(await ann.GroupAccessRequests.all("acme")).toHaveLength(1);
    const approved = await ann.GroupAccessRequests.approve("acme", id as number, {
      accessLevel: 20,
    });
    expect(approved).toMatchObject({ access_level: 20 });
  });

  it("keeps broadcast messages, packages and archives of projects", async () => {
    const message = await root.BroadcastMessages.create({ message: "Maintenance at noon" });
    expect(await bob.BroadcastMessages.all()).toMatchObject([{ message: "Maintenance at noon" }]);
    await root.BroadcastMessages.remove(message.id);
    const file = { filename: "a.txt", content: new Blob(["one"]) };
    expect(await bob.PackageRegistry.publish(SITE, "tool", "1.0", file)).toEqual({
      message: "201 Created",
    });
    expect(await bob.Packages.all({ projectId: SITE })).toMatchObject([{ name: "tool" }]);
    expect(await ann.ProjectImportExports.showExportStatus(SITE)).toMatchObject({
      export_status: "none",
    });
  });
});
