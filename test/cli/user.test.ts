import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collect, environment, newFolder, program, run, runJson } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
beforeAll(async () => {
  await runJson(["user", "create", ...data("root"), "--admin"], at);
});
afterAll(folder.remove);

function data(username: string): string[] {
  return [
    "--username",
    username,
    "--name",
    `The ${username}`,
    "--email",
    `${username}@example.com`,
  ];
}

describe("user create", () => {
  it("creates the database and prints the user as one object", async () => {
    const { path, remove } = newFolder();
    const ran = await run(["user", "create", ...data("ada"), "--admin", "--json"], { cwd: path });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(ran.stdout)).toEqual({
      id: 1,
      username: "ada",
      name: "The ada",
      email: "ada@example.com",
      state: "active",
      admin: true,
    });
    remove();
  });

  it("suggests the next step", async () => {
    const { code, stdout } = await run(["user", "create", ...data("next")], at);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Created the user next \(id \d+\)\.\nA token .*pm-cli token create/);
  });

  it("reads a password from standard input, without the newline", async () => {
    const args = ["user", "create", "--password-stdin"];
    const good = await run([...args, ...data("pass")], { ...at, input: "12345678\n" });
    expect(good).toMatchObject({ code: 0, stderr: "" });
    const short = await run([...args, ...data("short")], { ...at, input: "1234567\n" });
    expect(short).toMatchObject({ code: 2, stdout: "" });
    expect(short.stderr).toBe(
      "error: password is too short (minimum is 8 characters): correct it and try again\n",
    );
    const none = await run([...args, ...data("none")], at);
    expect(none).toMatchObject({ code: 2, stdout: "" });
    expect(none.stderr).toBe("error: --password-stdin: standard input is empty\n");
  });

  it("refuses taken or malformed values in one line", async () => {
    const taken = await run(["user", "create", ...data("ROOT"), "--json"], at);
    expect(taken).toMatchObject({ code: 1, stdout: "" });
    expect(taken.stderr).toBe("error: Email has already been taken: choose another\n");
    const malformed = await run(
      ["user", "create", "--username", "x", "--name", "X", "--email", "nowhere"],
      at,
    );
    expect(malformed).toMatchObject({ code: 2, stdout: "" });
    expect(malformed.stderr).toBe("error: email is invalid: correct it and try again\n");
  });

  it("names every missing or blank option, and asks nothing without a terminal", async () => {
    const all = await run(["user", "create"], at);
    expect(all).toEqual({
      code: 2,
      stdout: "",
      stderr: "error: --username, --name and --email are required\n",
    });
    const one = await run(["user", "create", "--name", "X", "--email", "x@example.com"], at);
    expect(one).toEqual({ code: 2, stdout: "", stderr: "error: --username is required\n" });
    const blank = await run(["user", "create", ...data("blank"), "--name", " "], at);
    expect(blank).toEqual({ code: 2, stdout: "", stderr: "error: --name can't be blank\n" });
  });
});

describe("hints", () => {
  it("name the database, unless it is the default one", async () => {
    const named = await run(["user", "create", ...data("other"), "--db", "p.db"], at);
    expect(named.stdout).toContain(
      "pm-cli token create --user other --name cli --scopes api --db p.db",
    );
    const missing = await run(["user", "block", "nobody", "--db", "p.db"], at);
    expect(missing.stderr).toBe(
      "error: there is no such user: `pm-cli user list --db p.db` shows them all\n",
    );
  });
});

describe("user show, rename, promote, demote and delete", () => {
  it("change a user", async () => {
    await runJson(["user", "create", ...data("grace")], at);
    expect((await run(["user", "promote", "grace"], at)).stdout).toBe(
      "grace is an administrator now.\n",
    );
    expect(await runJson(["user", "show", "grace"], at)).toMatchObject({ admin: true });
    expect((await run(["user", "demote", "grace"], at)).stdout).toBe(
      "grace is no longer an administrator.\n",
    );
    const renamed = await run(["user", "rename", "grace", "hopper", "--name", "Grace H"], at);
    expect(renamed.stdout).toBe("hopper is Grace H <grace@example.com> now.\n");
    const shown = await run(["user", "show", "hopper"], at);
    expect(shown.stdout).toMatch(/│ hopper +│ Grace H /);
  });

  it("asks before deleting, and requires --yes if it can't ask", async () => {
    const unasked = await run(["user", "delete", "hopper"], at);
    expect([unasked.code, unasked.stdout]).toEqual([2, ""]);
    expect(unasked.stderr).toContain("Give --yes");
    const deleted = await run(["user", "delete", "hopper", "--yes"], at);
    expect([deleted.code, deleted.stdout]).toEqual([0, "hopper is deleted.\n"]);
    expect((await run(["user", "show", "hopper"], at)).code).toBe(1);
  });

  it("never removes the last administrator", async () => {
    for (const args of [["demote"], ["block"], ["delete", "--yes"]]) {
      const [verb, ...flags] = args as [string];
      const ran = await run(["user", verb, "root", ...flags], at);
      expect(ran).toEqual({
        code: 1,
        stdout: "",
        stderr: "error: The last administrator cannot be removed\n",
      });
    }
  });

  it("requires something to change", async () => {
    const ran = await run(["user", "rename", "root"], at);
    expect(ran.stderr).toBe("error: give the new user name, --name or --email\n");
    expect(ran.code).toBe(2);
  });
});

describe("user invite", () => {
  it("prints a link, and another one later", async () => {
    const url = ["--url", "https://pm.example.com"];
    const { code, stdout } = await run(["user", "invite", ...data("linus"), ...url], at);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Created the user linus \(id \d+\)\.\nhttps:\/\/pm\.example\.com\/users\/password\/edit\?reset_password_token=[0-9a-f]{64}\n/,
    );
    const again = await runJson(["user", "password", "linus", "--link", "--expires-in", "1h"], at);
    expect(again).toMatchObject({ username: "linus", url: null });
    expect(again.path).toMatch(/^\/users\/password\/edit\?reset_password_token=/);
    const wrong = await run(["user", "invite", ...data("x"), "--url", "pm.example.com"], at);
    expect([wrong.code, wrong.stdout]).toEqual([2, ""]);
    expect(wrong.stderr).toContain("url must be a complete URL");
  });
});

describe("user create, refused,", () => {
  it("names everything that is invalid", async () => {
    const wrong = ["--username", "a b", "--name", "A", "--email", "nobody"];
    const { code, stdout, stderr } = await run(["user", "create", ...wrong], at);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("email is invalid");
    expect(stderr).toContain("username can contain only letters");
  });

  it("says what a database in memory means", async () => {
    const { code, stderr } = await run(["user", "create", ...data("x"), "--db", ":memory:"], at);
    expect([code, stderr]).toEqual([2, expect.stringContaining("gone when the command ends")]);
  });
});

it("options of links say how long they work", async () => {
  const { stdout } = await run(["user", "password", "--help"], at);
  expect(stdout.replace(/\s+/g, " ")).toContain("a number and h or d (default: 7d)");
});

describe("user list", () => {
  it("prints an array, or a table", async () => {
    const users = await runJson(["user", "list"], at);
    expect(users[0]).toEqual({
      id: 1,
      username: "root",
      name: "The root",
      email: "root@example.com",
      state: "active",
      admin: true,
    });
    const { code, stdout } = await run(["user", "list"], at);
    expect(code).toBe(0);
    expect(stdout).toMatch(/id +│ username .*\n.*\n.*1 +│ root +│ The root +│ root@example\.com/);
  });

  it("replaces terminal control characters", async () => {
    const name = "Eve \u001b[31m\u0007";
    const data = ["--username", "eve", "--name", name, "--email", "eve@example.com"];
    await runJson(["user", "create", ...data], at);
    const { stdout } = await run(["user", "list"], at);
    expect(stdout).toContain("Eve ?[31m?");
    expect(stdout).not.toContain("\u001b");
  });

  it("is silent if its output is closed", async () => {
    const [command, ...rest] = [...program, "user", "list"];
    const child = spawn(command as string, rest, {
      cwd: folder.path,
      env: environment(),
    });
    const output = collect(child);
    child.stdout.destroy();
    await once(child, "close");
    expect({ code: child.exitCode, stderr: output.stderr }).toEqual({ code: 0, stderr: "" });
  });
});

describe("user block and unblock", () => {
  it("changes the state, with the name in any case", async () => {
    await runJson(["user", "create", ...data("mallory")], at);
    expect(await runJson(["user", "block", "Mallory"], at)).toMatchObject({
      username: "mallory",
      state: "blocked",
    });
    const { code, stdout } = await run(["user", "unblock", "mallory"], at);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "mallory is active now.\n" });
  });

  it("fails for an unknown user", async () => {
    const ran = await run(["user", "block", "nobody"], at);
    expect(ran).toEqual({
      code: 1,
      stdout: "",
      stderr: "error: there is no such user: `pm-cli user list` shows them all\n",
    });
  });

  it("requires a user name", async () => {
    const ran = await run(["user", "block"], at);
    expect(ran).toEqual({
      code: 2,
      stdout: "",
      stderr: "error: missing required argument 'username'\n",
    });
  });
});

describe("user set-password", () => {
  it("reads it from standard input", async () => {
    await runJson(["user", "create", ...data("forgetful")], at);
    const ran = await run(["user", "set-password", "Forgetful", "--password-stdin"], {
      ...at,
      input: "correct horse\n",
    });
    expect(ran).toMatchObject({
      code: 0,
      stdout: "forgetful has a new password, and is signed out.\n",
      stderr: "",
    });
    const short = await run(["user", "set-password", "forgetful", "--password-stdin"], {
      ...at,
      input: "short\n",
    });
    expect(short).toMatchObject({ code: 2, stdout: "" });
    expect(short.stderr).toContain("password is too short (minimum is 8 characters)");
  });

  it("requires one, and a user", async () => {
    const none = await run(["user", "set-password", "root"], at);
    expect(none).toMatchObject({ code: 2, stdout: "" });
    expect(none.stderr).toBe("error: give the new password: --password-stdin < password.txt\n");
    const nobody = await run(["user", "set-password", "nobody", "--password-stdin"], {
      ...at,
      input: "correct horse\n",
    });
    expect(nobody.code).not.toBe(0);
    expect(nobody.stderr).toContain("there is no such user");
  });
});

describe("user disable-two-factor", () => {
  it("succeeds whether it was on or not", async () => {
    const { stdout, code } = await run(["user", "disable-two-factor", "root"], at);
    expect([code, stdout]).toEqual([0, "root signs in with their password alone now.\n"]);
    expect(await runJson(["user", "disable-two-factor", "root"], at)).toMatchObject({
      username: "root",
    });
  });
});
