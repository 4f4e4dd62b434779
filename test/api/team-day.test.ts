// A day of a team, by the programs that it has: OpenSSH, Git, git-lfs, npm, Maven, skopeo and a runner, and a provider of
// OpenID Connect. Maven fetches its own plugins, so this is part of `npm run test:all` only.
import { execFile, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { serve } from "../../src/node.ts";
import { writeImage } from "../clients/_image.ts";
import { newFolder } from "../folder.ts";
import { isLong, isRepeated } from "../forms.ts";
import { testApp } from "../helpers.ts";
import { programOf } from "../program.ts";
import { ORIGIN, Visitor } from "../visitor.ts";
import { startOidcProvider } from "../web/_oidc-provider.ts";

const run = promisify(execFile);
const PROGRAMS = ["ssh -V", "git lfs version", "npm --version", "mvn --version", "skopeo -v"];

function hasAll(): boolean {
  const missing = PROGRAMS.filter((words) => {
    const [program = "", ...args] = words.split(" ");
    return spawnSync(program, args).status !== 0;
  });
  if (missing.length > 0) console.warn(`not tested, since these fail: ${missing.join(", ")}`);
  return missing.length === 0;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

it.runIf(isLong && !isRepeated && hasAll())("a day of a team, by its programs", async () => {
  const folder = newFolder();
  const at = (...path: string[]) => join(folder, ...path);
  const provider = await startOidcProvider(`${ORIGIN}/users/auth/openid_connect/callback`);
  const app = await testApp({ now: Date.now, signIn: { providers: [provider.options] } });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const team = await app.another({ url, ssh: { port: 0 }, background: true });
  const server = await serve(team, { port });
  const runner = await programOf(new URL("../../cli/index.ts", import.meta.url));
  onTestFinished(async () => {
    await runner.remove();
    await server.close();
    await team.close();
    await app.dispose();
    provider.close();
    await rm(folder, { recursive: true, force: true });
  });

  // Zoë signs in with the provider, which makes her account.
  const visitor = new Visitor(app);
  await visitor.get("/users/sign_in");
  const sent = await visitor.post("/users/auth/openid_connect");
  const back = await provider.signIn(new URL(sent.headers.get("location") ?? ""), "zoe");
  await visitor.get(back.pathname + back.search);
  const zoe = JSON.parse((await visitor.get("/api/v4/user")).page);
  expect(zoe.username).toBe("zoe");
  const project = (await app.call("GET /projects/acme%2Fsite", { as: "owner" })).json;
  const own = `/projects/${project.id}`;
  const member = { user_id: zoe.id, access_level: 40 };
  await app.call(`POST ${own}/members`, { as: "owner", json: member });

  // She has a key, with which she makes a token, clones, and pushes code and a large file.
  await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", at("key")]);
  const key = { title: "laptop", key: readFileSync(at("key.pub"), "utf8").trim() };
  await app.call(`POST /users/${zoe.id}/keys`, { as: "admin", json: key });
  const options = [
    ...["-F", "none", "-i", at("key"), "-o", "IdentityAgent=none", "-o", "BatchMode=yes"],
    ...["-o", `UserKnownHostsFile=${at("known")}`, "-o", "StrictHostKeyChecking=accept-new"],
  ];
  const sshPort = String(team.ssh?.port);
  const words = ["personal_access_token", "day", "api,read_registry", "1"];
  const made = await run("ssh", [...options, "-p", sshPort, "git@127.0.0.1", ...words]);
  const token = /Token:\s+(\S+)/.exec(made.stdout)?.[1] ?? "";
  const git = async (where: string, ...args: string[]) => {
    const env = {
      ...process.env,
      ...{ HOME: folder, GIT_CONFIG_NOSYSTEM: "1", GIT_TERMINAL_PROMPT: "0" },
      GIT_SSH_COMMAND: ["ssh", ...options].join(" "),
    };
    const who = ["-c", "user.name=Zoe", "-c", "user.email=zoe@id.test"];
    return (await run("git", [...who, ...args], { cwd: at(where), env })).stdout.trim();
  };
  const address = `ssh://git@127.0.0.1:${sshPort}/acme/site.git`;
  await git("", "lfs", "install", "--skip-repo");
  await git("", "clone", "--quiet", address, "work");
  await git("work", "checkout", "--quiet", "-B", "main");
  await git("work", "lfs", "track", "*.bin");
  const large = randomBytes(2_000_000);
  writeFileSync(at("work/large.bin"), large);
  mkdirSync(at("work/lib"));
  const manifest = { name: "@acme/thing", version: "1.0.0", license: "MIT", main: "index.js" };
  writeFileSync(at("work/lib/package.json"), JSON.stringify(manifest));
  writeFileSync(at("work/lib/index.js"), "module.exports = 'a day';\n");
  writeFileSync(at("work/thing.jar"), "a jar");
  writeImage(at("image"));
  writeFileSync(
    at("work/settings.xml"),
    `<settings><servers><server><id>pm</id><configuration><httpHeaders><property><name>Job-Token</name>
     <value>\${env.CI_JOB_TOKEN}</value></property></httpHeaders></configuration></server></servers></settings>`,
  );
  const host = `127.0.0.1:${port}`;
  const configuration = {
    npm: {
      script: [
        "cd lib",
        `echo "@acme:registry=$CI_API_V4_URL/projects/$CI_PROJECT_ID/packages/npm/" > .npmrc`,
        `echo "//${host}/api/v4/projects/$CI_PROJECT_ID/packages/npm/:_authToken=$CI_JOB_TOKEN" >> .npmrc`,
        "npm publish",
      ],
    },
    maven: {
      script: [
        `mvn -B -q -s settings.xml deploy:deploy-file -DrepositoryId=pm -Dfile=thing.jar -Dpackaging=jar \
-Durl=$CI_API_V4_URL/projects/$CI_PROJECT_ID/packages/maven \
-DgroupId=com.acme -DartifactId=thing -Dversion=1.0`,
      ],
    },
    push: {
      script: [
        `skopeo copy --preserve-digests --dest-tls-verify=false --dest-creds "gitlab-ci-token:$CI_JOB_TOKEN" oci:${at("image")}:1.0 docker://${host}/acme/site:1.0`,
      ],
    },
  };
  writeFileSync(at("work/.gitlab-ci.yml"), JSON.stringify(configuration));
  await git("work", "add", ".");
  await git("work", "commit", "--quiet", "-m", "Begin");
  await git("work", "push", "--quiet", "origin", "main");

  // A runner does the jobs, which publish with their tokens.
  const json = { runner_type: "instance_type" };
  const { token: ofRunner } = (await app.call("POST /user/runners", { as: "admin", json })).json;
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|PM_)/i.test(name)),
  );
  await run(
    process.execPath,
    [runner.file, "runner", "--url", url, "--token", ofRunner, "--until-idle"],
    { cwd: folder, env, maxBuffer: 2 ** 26 },
  );
  const jobs = (await app.call(`GET ${own}/jobs`, { as: "owner" })).json;
  for (const { id, name, status } of jobs) {
    const log = await app.call(`GET ${own}/jobs/${id}/trace`, { as: "owner" });
    expect([name, status, log.text]).toEqual([name, "success", log.text]);
  }
  expect(jobs).toHaveLength(3);

  // Everything can be had again: by npm, Maven's address, skopeo and another clone.
  mkdirSync(at("use"));
  const registry = `${url}/api/v4${own}/packages/npm/`;
  writeFileSync(
    at("use/.npmrc"),
    `@acme:registry=${registry}\n${registry.replace("http:", "")}:_authToken=${token}\ncache=${at("cache")}\n`,
  );
  writeFileSync(at("use/package.json"), '{"name":"use","version":"1.0.0"}');
  await run("npm", ["install", "--no-audit", "--no-fund", "@acme/thing@1.0.0"], {
    cwd: at("use"),
    env: { ...env, npm_config_userconfig: at("none") },
  });
  expect(readFileSync(at("use/node_modules/@acme/thing/index.js"), "utf8")).toContain("a day");
  const jar = await fetch(`${url}/api/v4${own}/packages/maven/com/acme/thing/1.0/thing-1.0.jar`, {
    headers: { "private-token": token },
  });
  expect(await jar.text()).toBe("a jar");
  const credentials = ["--src-tls-verify=false", "--src-creds", `zoe:${token}`];
  await run("skopeo", [
    "copy",
    "--preserve-digests",
    ...credentials,
    `docker://${host}/acme/site:1.0`,
    `oci:${at("pulled")}:1.0`,
  ]);
  const digestIn = (layout: string) =>
    JSON.parse(readFileSync(at(layout, "index.json"), "utf8")).manifests[0].digest;
  expect(digestIn("pulled")).toBe(digestIn("image"));
  await git("", "clone", "--quiet", address, "again");
  expect(existsSync(at("again/.git/lfs/objects"))).toBe(true);
  expect(readFileSync(at("again/large.bin")).equals(large)).toBe(true);
});
