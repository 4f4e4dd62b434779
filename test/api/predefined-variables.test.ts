import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { ciProject, runnerOf, takeJob } from "./_pipelines.ts";
import { KINDS, type Kind, PREDEFINED } from "./_predefined.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ background: false });
});
afterAll(() => app.dispose());

const CONFIGURATION = `
work: { script: make, rules: [{ if: $KIND == null }] }
start: { trigger: { include: child.yml }, rules: [{ if: $KIND == "child" }] }
ship:
  script: make
  image: node
  when: manual
  parallel: 2
  environment: { name: review/$CI_COMMIT_REF_NAME, url: "https://$CI_ENVIRONMENT_SLUG.example.com" }
  rules: [{ if: $KIND == "deployment", when: manual }]
`;

it("Each job has GitLab's predefined variables of its kind, and no others", async () => {
  const as = "owner";
  const project = await ciProject(app, "predefined", CONFIGURATION);
  await project.commit("child.yml", "below: { script: make }", "Add a child [skip ci]");
  const runner = await runnerOf(app, project);
  const send = async (request: string, json?: object) => {
    const answer = await project.call(request, { as, ...(json && { json }) });
    expect([200, 201], answer.text).toContain(answer.status);
    return answer.json;
  };
  const run = (ref: string, kind?: Kind) =>
    send("POST /pipeline", { ref, ...(kind && { variables: [{ key: "KIND", value: kind }] }) });
  await send("POST /releases", { tag_name: "v1", ref: "main", tag_message: "m", description: "d" });
  await send("POST /repository/commits", {
    ...{ branch: "feature", start_branch: "main", commit_message: "Change [skip ci]" },
    actions: [{ action: "create", file_path: "b", content: "b" }],
  });
  const { id: milestone } = await send("POST /milestones", { title: "1.0" });
  const me = (await app.call("GET /user", { as })).json.id;
  const { iid } = await send("POST /merge_requests", {
    ...{ title: "Change", source_branch: "feature", target_branch: "main", description: "What" },
    ...{ labels: "bug", milestone_id: milestone, assignee_ids: [me] },
  });
  const { token } = await send("POST /triggers", { description: "Elsewhere" });
  const nightly = { description: "Nightly", ref: "main", cron: "0 1 * * *" };
  const { id: schedule } = await send("POST /pipeline_schedules", nightly);
  const starts: Readonly<Record<Kind, () => Promise<unknown>>> = {
    branch: () => run("main"),
    "other branch": () => run("feature"),
    tag: () => run("v1"),
    "merge request": () => send(`POST /merge_requests/${iid}/pipelines`),
    schedule: () => send(`POST /pipeline_schedules/${schedule}/play`),
    trigger: () => send("POST /trigger/pipeline", { token, ref: "main" }),
    child: () => run("main", "child"),
    deployment: async () => {
      const { id } = await run("main", "deployment");
      const [job] = await send(`GET /pipelines/${id}/jobs`);
      await send(`POST /jobs/${job.id}/play`);
    },
  };
  const wrong: string[] = [];
  for (const kind of KINDS) {
    await starts[kind]();
    await app.admin.maintenance.runPipelines();
    const { variables } = await takeJob(app, runner);
    const present = new Set<string>(variables.map(({ key }: { key: string }) => key));
    present.delete("KIND");
    for (const [name, kinds] of PREDEFINED) {
      if (kinds.includes(kind) !== present.has(name)) wrong.push(`${kind}: ${name}`);
      present.delete(name);
    }
    wrong.push(...[...present].map((name) => `${kind}: ${name} is in no list`));
  }
  expect(wrong).toEqual([]);
});
