import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, describe, expect, it } from "vitest";
import { collect, environment, newFolder, runJson, shellCommand, until } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
afterAll(folder.remove);

/** Runs `pm-cli` on a pseudo-terminal, typing each answer when its question appears. */
async function onTerminal(
  args: string,
  answers: [question: string, answer: string][] = [],
): Promise<{ code: number | null; screen: string }> {
  const command = `${shellCommand} ${args}`;
  const [program, flags] =
    process.platform === "darwin"
      ? ["script", ["-q", "/dev/null", "sh", "-c", command]]
      : ["script", ["-qec", command, "/dev/null"]];
  const child = spawn(program as string, flags as string[], {
    ...at,
    env: environment({ TERM: "xterm" }),
  });
  const output = collect(child);
  let seen = 0;
  for (const [question, answer] of answers) {
    seen = await until(child, () => {
      const found = output.stdout.indexOf(question, seen);
      return found < 0 ? undefined : found + question.length;
    });
    child.stdin.write(answer);
  }
  await once(child, "close");
  return { code: child.exitCode, screen: output.stdout };
}

const ENTER = "\r";
const CONTROL_C = "\u0003";

describe("on a terminal", () => {
  it("asks for missing options, and for a password without showing it", async () => {
    const { code, screen } = await onTerminal("user create --name 'Ada Lovelace'", [
      ["User name", `ada${ENTER}`],
      ["E-mail address", `ada${ENTER}`],
      ["Email is invalid", `@example.com${ENTER}`],
      ["Password", `short${ENTER}`],
      ["Password is too short", `\u0015correct horse${ENTER}`],
      ["Repeat the password", `correct house${ENTER}`],
      ["The passwords do not match", ""],
      ["Password", `correct horse${ENTER}`],
      ["Repeat the password", `correct horse${ENTER}`],
    ]);
    expect(code).toBe(0);
    expect(screen).toContain("Created the user ada");
    expect(screen).not.toContain("Full name");
    expect(screen).not.toContain("correct horse");
    expect(await runJson(["user", "list"], at)).toMatchObject([
      { username: "ada", name: "Ada Lovelace", email: "ada@example.com" },
    ]);
  });

  it("insists on an answer", async () => {
    const { code, screen } = await onTerminal("token create --user ada --scopes api", [
      ["Name of the token", ENTER],
      ["Required", `laptop${ENTER}`],
    ]);
    expect(code).toBe(0);
    expect(screen).toMatch(/pmat-[0-9a-f]{40}/);
  });

  it("offers a password even if nothing else is missing", async () => {
    const data = "--username bob --name Bob --email bob@example.com";
    const { code, screen } = await onTerminal(`user create ${data}`, [["Password", ENTER]]);
    expect(code).toBe(0);
    expect(screen).toContain("Created the user bob");
    expect(screen).not.toContain("Repeat the password");
  });

  it("immediately asks again after an invalid answer", async () => {
    const { code, screen } = await onTerminal("token create --scopes api", [
      ["User name", `nobody${ENTER}`],
      ["There is no such User", `\u0015bob${ENTER}`],
      ["Name of the token", `laptop${ENTER}`],
    ]);
    expect(code).toBe(0);
    expect(screen).toMatch(/pmat-[0-9a-f]{40}/);
  });

  it("asks for confirmation of what can't be undone", async () => {
    await runJson(["user", "create", "--username", "gone", "--name", "G", "--email", "g@x"], at);
    const no = await onTerminal("user delete gone", [["for good", `n${ENTER}`]]);
    expect([no.code, no.screen.includes("error: nothing was done")]).toEqual([1, true]);
    const yes = await onTerminal("user delete gone", [["for good", `y${ENTER}`]]);
    expect([yes.code, yes.screen.includes("gone is deleted.")]).toEqual([0, true]);
  });

  it("does nothing after Ctrl-C", async () => {
    const { code, screen } = await onTerminal("user create --username eve", [
      ["Full name", CONTROL_C],
    ]);
    expect(code).toBe(1);
    expect(screen).toContain("error: cancelled, nothing was done");
    expect(screen).not.toContain("    at ");
    const users: { username: string }[] = await runJson(["user", "list"], at);
    expect(users.map(({ username }) => username)).not.toContain("eve");
  });

  it("shows the progress of seeding", async () => {
    const { code, screen } = await onTerminal("seed --db medium.db --scale medium");
    expect(code).toBe(0);
    expect(screen).toMatch(/Seeding █+░* \d+%/);
    expect(screen).toContain("Seeded medium.db: 800 users");
  });
});
