// `pm-cli runner` does the jobs of a server, with real Git and bash.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { isLong, repeats } from "../forms.ts";
import { type Answer, waitFor } from "../helpers.ts";
import { environment, newFolder, program, root, run } from "./helpers.ts";

const folder = newFolder();
let server: TestServer;
let token: string;
beforeAll(async () => {
  server = await startTestServer();
  token = (await call("POST", "/user/runners", { runner_type: "instance_type" })).token;
});
afterAll(async () => {
  await server.close();
  folder.remove();
});

/** Podman as it is set up by `CONTAINERS_CONF`, such as for machines without all that its own defaults need. */
const PODMAN = { env: environment() };
function hasPodman(): boolean {
  const has = spawnSync("podman", ["info"], PODMAN).status === 0 && existsSync("/bin/busybox");
  if (!has) console.warn("not tested with containers: podman or a static busybox is missing");
  return has;
}

async function call(method: string, path: string, json?: object): Promise<Answer["json"]> {
  const answer = await fetch(`${server.url}/api/v4${path}`, {
    method,
    headers: { "private-token": server.token, "content-type": "application/json" },
    ...(json && { body: JSON.stringify(json) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
}

let projects = 0;
/** A project with files, and a pipeline of its `main`. */
async function pipelineOf(files: Readonly<Record<string, string>>, variables: object[] = []) {
  projects += 1;
  const { id } = await call("POST", "/projects", { name: `p${projects}`, default_branch: "main" });
  for (const variable of variables) await call("POST", `/projects/${id}/variables`, variable);
  const actions = Object.entries(files).map(([file_path, content]) => ({
    ...{ action: "create", file_path, content },
  }));
  const commit = { branch: "main", commit_message: "Begin [skip ci]", actions };
  await call("POST", `/projects/${id}/repository/commits`, commit);
  const pipeline = await call("POST", `/projects/${id}/pipeline`, { ref: "main" });
  const own = `/projects/${id}`;
  const jobs = async (): Promise<Record<string, { id: number; status: string }>> => {
    const list = await call("GET", `${own}/pipelines/${pipeline.id}/jobs`);
    return Object.fromEntries(list.map((job: { name: string }) => [job.name, job]));
  };
  const logOf = async (name: string): Promise<string> =>
    call("GET", `${own}/jobs/${(await jobs())[name]?.id}/trace`);
  return { own, pipeline, jobs, logOf };
}

const args = (...more: string[]) => ["runner", "--url", server.url, "--token", token, ...more];
/** Runs all jobs that wait. */
const runAll = (...more: string[]) =>
  run(args("--until-idle", "--json", ...more), { cwd: folder.path });

const yaml = (configuration: object) => ({ ".gitlab-ci.yml": JSON.stringify(configuration) });

describe("runner", () => {
  it("gets the commit, runs the steps, and hands files on", async () => {
    const { jobs, logOf, own } = await pipelineOf(
      {
        "src/a.txt": "from the repository",
        ...yaml({
          stages: ["build", "test"],
          make: {
            stage: "build",
            variables: { GREETING: "Hello $CI_PROJECT_NAME" },
            before_script: ["mkdir -p out/deep cache"],
            script: [
              'echo "$GREETING" > out/greeting.txt',
              "cp src/a.txt out/deep/",
              "echo left > out/left.log; echo kept > cache/kept.txt",
              "chmod +x out/deep/a.txt; ln -s greeting.txt out/link.txt",
              'cat "$FILE"; echo "the secret is $SECRET."',
            ],
            after_script: ['echo "after $CI_JOB_STATUS"'],
            artifacts: { paths: ["out/"], exclude: ["out/*.log"] },
            cache: { key: "$CI_COMMIT_REF_SLUG", paths: ["cache"] },
          },
          check: {
            stage: "test",
            script: [
              "cat out/greeting.txt out/deep/a.txt out/link.txt cache/kept.txt",
              "test -x out/deep/a.txt && test -L out/link.txt && ! test -e out/left.log",
              "echo '<testsuite><testcase name=\"one\"/></testsuite>' > junit.xml",
              "git fetch --quiet origin main && git log -1 --format=%s",
            ],
            cache: { key: "main", paths: ["cache"], policy: "pull" },
            artifacts: { reports: { junit: "junit.xml" } },
          },
        }),
      },
      [
        { key: "SECRET", value: "open-sesame-1234", masked: true },
        { key: "FILE", value: "a file", variable_type: "file" },
      ],
    );
    const { code, stdout } = await runAll();
    expect(code).toBe(0);
    const made = await logOf("make");
    expect([await jobs(), made]).toEqual([
      {
        make: expect.objectContaining({ status: "success" }),
        check: expect.objectContaining({ status: "success" }),
      },
      made,
    ]);
    for (const part of [
      "$ cp src/a.txt out/deep/",
      "a file",
      "the secret is [MASKED].",
      "after success",
      "section_start:",
    ]) {
      expect(made).toContain(part);
    }
    expect(made).not.toContain("open-sesame-1234");
    const checked = await logOf("check");
    for (const part of ["Hello p1", "from the repository", "kept", "Begin [skip ci]"]) {
      expect(checked).toContain(part);
    }
    const { id } = (await jobs())["check"] as { id: number };
    const { artifacts } = await call("GET", `${own}/jobs/${id}`);
    expect(artifacts).toMatchObject([{ file_type: "junit", file_format: "gzip" }]);
    // One line each, for scripts.
    const told = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).message);
    expect(told).toEqual([
      `waiting for jobs of ${server.url}`,
      ...["started", "success", "started", "success", "there are no more jobs"],
    ]);
    // No token is left in the folder.
    const config = readFileSync(
      join(folder.path, "pm-runner/builds/0", own.split("/")[2] as string, ".git/config"),
      "utf8",
    );
    expect(config).not.toMatch(/glcbt|gitlab-ci-token/);
  });

  it("says how a job failed, and does what is wanted then", async () => {
    const { jobs, logOf, own } = await pipelineOf(
      yaml({
        broken: {
          script: ["echo before", "(exit 7)", "echo never"],
          after_script: ['echo "after $CI_JOB_STATUS"; exit 1'],
          artifacts: { paths: [".gitlab-ci.yml"], when: "on_failure" },
        },
        allowed: { script: ["exit 3"], allow_failure: { exit_codes: [3] } },
        contained: { image: "alpine", script: ["true"], artifacts: { paths: ["nothing"] } },
      }),
    );
    expect((await runAll("--concurrent", "3")).code).toBe(0);
    const found = await jobs();
    expect(
      Object.values(found)
        .map(({ status }) => status)
        .sort(),
    ).toEqual(["failed", "failed", "success"]);
    const broken = await call("GET", `${own}/jobs/${found["broken"]?.id}`);
    expect(broken).toMatchObject({
      failure_reason: "script_failure",
      artifacts_file: { filename: "artifacts.zip" },
    });
    const log = await logOf("broken");
    expect(log).toContain("after failed");
    expect(log).toContain("exit status 7");
    expect(log).not.toContain("\nnever");
    const pipeline = await call("GET", `${own}/jobs/${found["allowed"]?.id}`);
    expect(pipeline.allow_failure).toBe(true);
    const contained = await logOf("contained");
    expect(contained).toContain("this runner has no containers");
    expect(contained).toContain("no files for archive: nothing");
  });

  it("runs steps in containers of the job's image, beside its services", async () => {
    // Stands for Docker: tells what it was asked, and runs commands as they are.
    const docker = join(folder.path, "docker");
    const asked = join(folder.path, "asked");
    writeFileSync(
      docker,
      `#!/bin/bash
echo "$*" >> ${asked}
[ "$1" = run ] && [ "$2" = --rm ] || exit 0
while [ "$1" != sh ]; do [ "$1" = --workdir ] && cd "$2"; shift; done
exec env --ignore-environment PATH="$PATH" "$@"
`,
      { mode: 0o755 },
    );
    const { jobs, logOf } = await pipelineOf(
      yaml({
        image: { name: "alpine:$VERSION", entrypoint: [""], pull_policy: "if-not-present" },
        variables: { VERSION: "3.22", DOCKER_HOST: "tcp://dind", LINES: "one\ntwo" },
        services: [{ name: "registry.test:5000/db/postgres:17", alias: "db", command: ["-x"] }],
        make: { script: ['echo "$LINES" > out', "cat out; echo $DOCKER_HOST"] },
      }),
    );
    await runAll("--executor", "docker", "--docker", docker);
    const log = await logOf("make");
    expect([(await jobs())["make"]?.status, log]).toEqual(["success", log]);
    expect(log).toContain("one\ntwo\ntcp://dind\n");
    const lines = readFileSync(asked, "utf8").replaceAll(/pm-runner-\d+-\d+/g, "JOB");
    const aliases = "--network-alias db --network-alias registry.test__db__postgres";
    for (const part of [
      "network create JOB\nrun --detach --name JOB-service-0 --network JOB --env-file ",
      `${aliases} --network-alias registry.test-db-postgres registry.test:5000/db/postgres:17 -x\n`,
      "--network JOB --volume ",
      "--pull missing --entrypoint  alpine:3.22 sh -c run=",
      "rm --force --volumes JOB-service-0\nnetwork rm JOB\n",
    ]) {
      expect(lines).toContain(part);
    }
    expect(lines).not.toContain("tcp://dind");
  });

  it.runIf(isLong && hasPodman())(
    "runs steps in real containers, which reach services",
    async ({ skip }) => {
      // An image of one program, without anything from elsewhere.
      const image = join(folder.path, "image");
      mkdirSync(join(image, "bin"), { recursive: true });
      copyFileSync("/bin/busybox", join(image, "bin/busybox"));
      for (const name of ["sh", "cat", "sleep", "wget", "httpd", "env", "id", "test"]) {
        symlinkSync("busybox", join(image, "bin", name));
      }
      const imported = spawnSync(
        "sh",
        ["-c", `tar -C ${image} -c . | podman import - pm-test:1`],
        PODMAN,
      );
      onTestFinished(() => void spawnSync("podman", ["rmi", "--force", "pm-test:1"], PODMAN));
      expect(imported.status, String(imported.stderr)).toBe(0);
      const tried = spawnSync("podman", ["run", "--rm", "pm-test:1", "sh", "-c", "exit"], PODMAN);
      skip(tried.status !== 0, `podman runs nothing here: ${tried.stderr}`);
      const { jobs, logOf, own } = await pipelineOf({
        ...yaml({
          image: { name: "localhost/pm-test:1", pull_policy: "never" },
          services: [
            {
              name: "localhost/pm-test:1",
              alias: "web",
              pull_policy: "never",
              entrypoint: ["sh", "-c"],
              command: ['echo "$PAGE" > /page; httpd -f -p 80 -h /'],
              variables: { PAGE: "by the service" },
            },
          ],
          ask: {
            script: [
              "cat file.txt",
              "until wget -q -O page.txt http://web/page; do sleep 1; done",
              'cat page.txt; test -z "$BASH_VERSION"',
            ],
            artifacts: { paths: ["page.txt"] },
          },
          hang: { needs: ["ask"], script: ["echo begun; sleep 600"], timeout: "5 seconds" },
        }),
        "file.txt": "from the repository\n",
      });
      await run(args("--until-idle", "--executor", "docker", "--docker", "podman"), {
        cwd: folder.path,
        ...PODMAN,
      });
      const log = await logOf("ask");
      const found = await jobs();
      expect([found["ask"]?.status, log]).toEqual(["success", log]);
      expect(log).toContain("from the repository\n");
      expect(await call("GET", `${own}/jobs/${found["ask"]?.id}/artifacts/page.txt`)).toBe(
        "by the service\n",
      );
      expect(found["hang"]).toMatchObject({ failure_reason: "job_execution_timeout" });
      const left = (...words: string[]) => String(spawnSync("podman", words, PODMAN).stdout);
      expect(left("ps", "--all", "--format", "{{.Names}}")).not.toContain("pm-runner");
      expect(left("network", "ls", "--format", "{{.Name}}")).not.toContain("pm-runner");
    },
  );

  it("does many jobs at once, of which some are canceled", async () => {
    const [working, hanging] = [repeats(8, 40), repeats(2, 10)];
    const met = join(folder.path, "met");
    mkdirSync(met);
    const { jobs, own } = await pipelineOf(
      yaml({
        work: {
          parallel: working,
          // None ends before all have begun.
          script: [
            `touch ${met}/$CI_NODE_INDEX; until set -- ${met}/*; [ $# = ${working + hanging} ]; do sleep 0.3; done`,
            "for line in $(seq 500); do echo $CI_NODE_INDEX: $line; done",
            "echo $CI_NODE_INDEX > own.txt",
          ],
          artifacts: { paths: ["own.txt"] },
        },
        hang: { parallel: hanging, script: [`touch ${met}/hang-$CI_NODE_INDEX; sleep 600`] },
      }),
    );
    const ended = runAll("--concurrent", String(working + hanging));
    await waitFor(async () => readdirSync(met).length === working + hanging);
    const begun = Object.entries(await jobs());
    const hung = begun.filter(([name]) => name.startsWith("hang"));
    await Promise.all(hung.map(([, { id }]) => call("POST", `${own}/jobs/${id}/cancel`)));
    expect((await ended).code).toBe(0);
    const statuses = Object.entries(await jobs()).map(([name, { status }]) => [name, status]);
    expect(statuses).toEqual(
      begun.map(([name]) => [name, name.startsWith("hang") ? "canceled" : "success"]),
    );
    for (const [name, { id }] of begun.filter(([name]) => name.startsWith("work"))) {
      const number = /\d+/.exec(name)?.[0];
      const log: string = await call("GET", `${own}/jobs/${id}/trace`);
      const lines = Array.from({ length: 500 }, (_, at) => `${number}: ${at + 1}\n`);
      expect(log).toContain(lines.join(""));
      expect(await call("GET", `${own}/jobs/${id}/artifacts/own.txt`)).toBe(`${number}\n`);
    }
  });

  it("ends a job that takes too long, with all that it has started", async () => {
    const { jobs, logOf } = await pipelineOf(
      yaml({ slow: { script: ["sleep 600 & sleep 600"], timeout: "2 seconds" } }),
    );
    await runAll();
    expect((await jobs())["slow"]).toMatchObject({
      status: "failed",
      failure_reason: "job_execution_timeout",
    });
    expect(await logOf("slow")).toContain("took longer than 2 seconds");
  });

  it("ends a job that is canceled, and one when it is stopped twice", async () => {
    const { jobs, own, logOf } = await pipelineOf(
      yaml({
        one: { script: ["echo begun; sleep 600"] },
        two: { script: ["echo begun; sleep 600"] },
      }),
    );
    const [command, ...rest] = [...program, ...args("--json")];
    const child = spawn(command as string, rest, { cwd: folder.path, env: environment() });
    const told: string[] = [];
    child.stdout.setEncoding("utf8").on("data", (text: string) => told.push(text));
    const ended = once(child, "exit");
    const begun = (name: string) => waitFor(async () => (await logOf(name)).includes("\nbegun"));
    await begun("one");
    await call("POST", `${own}/jobs/${(await jobs())["one"]?.id}/cancel`);
    await begun("two");
    expect(told.join("")).toContain('"message":"canceled"');
    child.kill("SIGTERM");
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(child.exitCode).toBe(null);
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    expect(await jobs()).toMatchObject({
      one: { status: "canceled" },
      two: { status: "failed", failure_reason: "runner_system_failure" },
    });
  });

  it("runs this project's own pipeline", async () => {
    const bin = join(folder.path, "bin");
    mkdirSync(bin, { recursive: true });
    // What the image and the network would bring.
    for (const name of ["npm", "apt-get"]) {
      writeFileSync(
        join(bin, name),
        `#!/bin/sh\necho "${name}: $*"; mkdir -p .npm; touch .npm/package\n`,
      );
      chmodSync(join(bin, name), 0o755);
    }
    const own = (name: string) => readFileSync(join(root, name), "utf8");
    const { jobs, logOf } = await pipelineOf({
      ".gitlab-ci.yml": own(".gitlab-ci.yml"),
      "package-lock.json": "{}",
    });
    const { code } = await run(args("--until-idle"), {
      cwd: folder.path,
      env: { PATH: `${bin}:${process.env["PATH"]}` },
    });
    expect(code).toBe(0);
    expect(Object.entries(await jobs()).map(([name, { status }]) => [name, status])).toEqual([
      ["test", "success"],
    ]);
    const log = await logOf("test");
    expect(log).toContain("npm: ci --cache .npm");
    expect(log).toContain("npm: test");
    expect(readdirSync(join(folder.path, "pm-runner/cache")).length).toBeGreaterThan(0);
  });

  it.each([
    [["--url", "nowhere", "--token", "x"], 2, "must be the server's address"],
    [["--url", "http://127.0.0.1:1", "--token", "x"], 1, "Check --url"],
    [["--url", "http://127.0.0.1:1"], 2, "--token (or PM_RUNNER_TOKEN) is missing"],
  ])("%j says what to do next", async (given, status, part) => {
    const { code, stderr } = await run(["runner", ...given], { cwd: folder.path });
    expect([code, stderr]).toEqual([status, expect.stringContaining(part)]);
  });

  it("is told that its token is none", async () => {
    const { code, stderr } = await run(["runner", "--url", server.url, "--token", "glrt-none"], {
      cwd: folder.path,
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining("POST /user/runners")]);
    expect(existsSync(join(folder.path, "pm-runner/builds/1"))).toBe(true);
  });
});
