import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collect, environment, newFolder, root, until } from "./helpers.ts";

const folder = newFolder();
const at = (name: string) => join(folder.path, name);

// A clone in which `npm ci` and tsup are stubs that reuse what is installed and built here.
beforeAll(() => {
  for (const name of ["cli", "src", "package.json", "package-lock.json", "tsup.config.ts"]) {
    cpSync(join(root, name), at(name), { recursive: true });
  }
  mkdirSync(at("bin"));
  const npm = `#!${process.execPath}
import { appendFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
appendFileSync("steps.log", "npm " + process.argv.slice(2).join(" ") + "\\n");
const real = ${JSON.stringify(join(root, "node_modules"))};
mkdirSync("node_modules/tsup/dist", { recursive: true });
for (const name of readdirSync(real)) {
  if (name !== "tsup" && !name.startsWith(".")) symlinkSync(real + "/" + name, "node_modules/" + name);
}
writeFileSync("node_modules/tsup/dist/cli-default.js", \`
  const { cpSync, appendFileSync, utimesSync } = require("node:fs");
  appendFileSync("steps.log", "tsup " + process.argv.slice(2).join(" ") + "\\\\n");
  cpSync(${JSON.stringify(join(root, "dist"))}, "dist", { recursive: true });
  utimesSync("dist/pm-cli.js", new Date(), new Date());
\`);
writeFileSync("node_modules/.package-lock.json", "{}");
`;
  writeFileSync(at("bin/npm"), npm, { mode: 0o755 });
});
afterAll(folder.remove);

const steps = () => readFileSync(at("steps.log"), "utf8").trim().split("\n");

interface Started {
  output: { stdout: string; stderr: string };
  /** The suggested commands. */
  curl: string;
  clone: string;
  stop: () => Promise<number | null>;
}

async function start(): Promise<Started> {
  const child = launch({ PM_PORT: "0" });
  const ended = once(child, "close");
  const output = collect(child);
  const suggested = (command: string) =>
    until(child, () => new RegExp(`^ {2}(${command} .*)\n`, "m").exec(output.stdout)?.[1]);
  const [curl, clone] = [await suggested("curl"), await suggested("git clone")];
  return {
    output,
    curl,
    clone,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      return child.exitCode;
    },
  };
}

function launch(env: Record<string, string>) {
  return spawn(process.execPath, ["cli/start.mjs"], {
    cwd: folder.path,
    env: environment({ PATH: `${at("bin")}:${process.env["PATH"]}`, ...env }),
  });
}

// It builds and runs the program for Node, not the binary.
describe.skipIf(process.env["TEST_PM_CLI"])("npm start", () => {
  it("installs, builds, seeds and serves; a second run repeats none of it", async () => {
    const first = await start();
    expect(steps()).toEqual(["npm ci --no-audit --no-fund", "tsup --silent"]);
    expect(first.output.stdout).toContain("Seeding the demo database");
    expect(first.output.stdout).toMatch(/Serving .*demo\.db on http:\/\/127\.0\.0\.1:\d+/);
    expect(first.output.stderr).toBe("");
    expect(await pasted(first.curl)).toMatchObject([{ name: "Delivery" }, { name: "Support" }]);
    expect(await first.stop()).toBe(0);

    const second = await start();
    expect(steps()).toHaveLength(2);
    expect(second.output.stdout).not.toContain("Seeding");
    expect(second.output.stdout).toMatch(
      /Sign in at http:\S+\/users\/sign_in as root, the administrator, with the password \S{12}\n/,
    );
    expect(second.output.stdout).toMatch(/Token of root.*: pmat-[0-9a-f]{40}/);
    expect(await pasted(second.curl)).toHaveLength(2);
    await promisify(execFile)("sh", ["-c", `${second.clone} cloned`], { cwd: folder.path });
    expect(readFileSync(at("cloned/README.md"), "utf8")).toMatch(/^# /);
    expect(await second.stop()).toBe(0);
  });

  it("rebuilds if a source is newer", async () => {
    const later = new Date(Date.now() + 1000);
    utimesSync(at("cli/commands/seed.ts"), later, later);
    const { stop } = await start();
    expect(steps()).toHaveLength(3);
    expect(steps().at(-1)).toBe("tsup --silent");
    expect(await stop()).toBe(0);
    const earlier = new Date(Date.now() - 60_000);
    utimesSync(at("cli/commands/seed.ts"), earlier, earlier);
  });

  it("explains how to choose another port", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const child = launch({ PM_PORT: String(port), PM_DEMO_DB: at("busy.db") });
    const output = collect(child);
    await once(child, "close");
    other.close();
    expect(child.exitCode).toBe(1);
    expect(output.stderr).toBe(
      `Port ${port} on 127.0.0.1 is in use. Choose another: PM_PORT=${port + 1} npm start\n`,
    );
  });

  it("refuses an invalid port", async () => {
    const child = launch({ PM_PORT: "http" });
    const output = collect(child);
    await once(child, "close");
    expect(child.exitCode).toBe(1);
    expect(output.stderr).toBe("PM_PORT is 'http', but it must be a number from 0 to 65535.\n");
  });
});

/** The output of a command pasted into a shell. */
async function pasted(command: string) {
  const { stdout } = await promisify(execFile)("sh", ["-c", command]);
  return JSON.parse(stdout);
}
