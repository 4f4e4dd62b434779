import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import {
  environment,
  newFolder,
  type Serving,
  shellCommand,
  startServing,
  until,
} from "./helpers.ts";

const folder = newFolder();
afterAll(folder.remove);

const CLIENTS = 16;
const preload = fileURLToPath(new URL("_crash.mjs", import.meta.url));
const crashing = { NODE_OPTIONS: `--import ${preload}` };

/** Sends requests until the server is gone, and gives the ids of those that were answered. */
async function askUntilGone({ url }: Pick<Serving, "url">, onAnswer: (answered: number) => void) {
  const ids: string[] = [];
  const client = async () => {
    for (;;) {
      const answer = await fetch(`${url}/api/v4/version`).catch(() => undefined);
      const id = answer?.headers.get("x-request-id");
      if (!id) return;
      ids.push(id);
      onAnswer(ids.length);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return ids;
}

/** Ends a server that is busy, and gives the ids that were answered and those in its log. */
async function endedBusy(name: string, signal: NodeJS.Signals, env: Record<string, string> = {}) {
  const serving = await startServing(["--db", `${folder.path}/${name}.db`], { env });
  const answered = await askUntilGone(serving, (count) => {
    if (count === 200) serving.child.kill(signal);
  });
  if (serving.child.exitCode === null) await once(serving.child, "close");
  const logged = serving.log().flatMap(({ request_id: id }) => (id ? [String(id)] : []));
  return { serving, answered, logged };
}

describe("the log of a busy server", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("has every answered request after %s", async (signal) => {
    const { answered, logged } = await endedBusy(signal, signal);
    expect(answered.length).toBeGreaterThanOrEqual(200);
    expect(answered.filter((id) => !logged.includes(id))).toEqual([]);
    expect(new Set(logged).size).toBe(logged.length);
  });

  // Only a program that Node runs can be made to fail.
  it.skipIf(process.env["TEST_PM_CLI"])(
    "has them after an exception that nobody catches, in fewer writes than lines",
    async () => {
      const { serving, answered, logged } = await endedBusy("crash", "SIGUSR2", crashing);
      expect(serving.stderr).toContain("on purpose");
      expect(answered.filter((id) => !logged.includes(id))).toEqual([]);
      const { writes } = JSON.parse(/^\{"writes":\d+\}$/m.exec(serving.stderr)?.[0] ?? "{}");
      expect(writes).toBeGreaterThan(0);
      expect(writes).toBeLessThan(logged.length / 2);
    },
  );

  it("has whole lines, of at most 4096 bytes a write, from several workers", async () => {
    const serving = await startServing(["--db", `${folder.path}/workers.db`, "--workers", "2"]);
    const answered = await askUntilGone(serving, (count) => {
      if (count === 200) serving.child.kill("SIGTERM");
    });
    if (serving.child.exitCode === null) await once(serving.child, "close");
    const ids = serving.log().map(({ request_id: id }) => id);
    expect(answered.filter((id) => !ids.includes(id))).toEqual([]);
  });

  it("does not hold up a server whose log nobody reads any more", async () => {
    // `head` ends after the line that says where the server listens.
    const command = `${shellCommand} serve --db '${folder.path}/closed.db' | head -n 1 >&2; sleep 600`;
    const shell = spawn("sh", ["-c", command], {
      env: environment({ PM_PORT: "0" }),
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    });
    const output = { stderr: "" };
    shell.stderr.setEncoding("utf8").on("data", (text: string) => {
      output.stderr += text;
    });
    const line = await until(shell, () => /^\{.*"listening".*\}$/m.exec(output.stderr)?.[0]);
    const { url } = JSON.parse(line);
    for (let sent = 0; sent < 50; sent += 1) {
      expect((await fetch(`${url}/-/health`)).status).toBe(200);
    }
    process.kill(-(shell.pid as number), "SIGTERM");
    await once(shell, "close");
  });
});
