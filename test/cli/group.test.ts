import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder, run, runJson } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
beforeAll(async () => {
  for (const name of ["ada", "bob"]) {
    const data = ["--username", name, "--name", name.toUpperCase(), "--email", `${name}@x.test`];
    await runJson(["user", "create", ...data], at);
  }
});
afterAll(folder.remove);

describe("group", () => {
  it("is created, shown, listed and deleted", async () => {
    expect((await run(["group", "list"], at)).stdout).toBe(
      "There are no groups: `pm-cli group create` creates one.\n",
    );
    const { stdout } = await run(
      ["group", "create", "--path", "acme", "--name", "Acme", "--owner", "ada"],
      at,
    );
    expect(stdout).toMatch(
      /^Created the private group acme \(id \d+\)\.\n.*pm-cli member add --group acme /,
    );
    const below = ["--path", "team", "--name", "Team", "--parent", "acme"];
    const team = await runJson(["group", "create", ...below], at);
    expect(team).toMatchObject({ full_path: "acme/team", visibility: "private" });
    expect((await run(["group", "list"], at)).stdout).toMatch(/│ acme\/team +│ Team /);
    expect(await runJson(["group", "show", "acme/team"], at)).toEqual(team);
    const unasked = await run(["group", "delete", "acme/team"], at);
    expect([unasked.code, unasked.stdout]).toEqual([2, ""]);
    const deleted = await run(["group", "delete", "acme/team", "--yes"], at);
    expect(deleted.stdout).toBe("acme/team is deleted.\n");
  });

  it("reports errors and what to do", async () => {
    const nobody = await run(["group", "show", "nothing"], at);
    expect(nobody).toEqual({
      code: 1,
      stdout: "",
      stderr: "error: there is no such group: `pm-cli group list` shows them all\n",
    });
    const reserved = await run(["group", "create", "--path", "users", "--name", "U"], at);
    expect(reserved).toMatchObject({ code: 2, stdout: "" });
    expect(reserved.stderr).toContain("path users is a reserved name");
    expect((await run(["group", "create", "--path", "x"], at)).stderr).toBe(
      "error: --name is required\n",
    );
  });
});

describe("member", () => {
  const of = ["--group", "acme", "--user", "bob"];

  it("is added, changed, listed and removed", async () => {
    const until = ["--expires-at", "2099-01-31"];
    const added = await run(["member", "add", ...of, "--role", "developer", ...until], at);
    expect(added.stdout).toBe("bob is developer until 2099-01-31.\n");
    const changed = ["member", "update", ...of, "--role", "owner", "--expires-at", "never"];
    expect(await runJson(changed, at)).toEqual({
      username: "bob",
      name: "BOB",
      role: "owner",
      access_level: 50,
      expires_at: null,
    });
    expect((await run(["member", "list", "--group", "acme"], at)).stdout).toMatch(/│ bob +│ BOB /);
    expect((await run(["member", "remove", ...of], at)).code).toBe(2);
    const removed = await run(["member", "remove", ...of, "--yes"], at);
    expect(removed.stdout).toBe("bob is no longer a member.\n");
  });

  it("reports errors and what to do", async () => {
    const last = ["member", "remove", "--group", "acme", "--user", "ada", "--yes"];
    const refused = await run(last, at);
    expect(refused.stderr).toBe("error: The last owner of a group cannot be removed\n");
    const both = await run(["member", "list", "--group", "acme", "--project", "x"], at);
    expect([both.code, both.stderr]).toEqual([2, "error: give either --group or --project\n"]);
    const role = await run(["member", "add", ...of, "--role", "boss"], at);
    expect([role.code, role.stderr.includes("guest, reporter")]).toEqual([2, true]);
    const day = await run(
      ["member", "add", ...of, "--role", "guest", "--expires-at", "2027-02-30"],
      at,
    );
    expect([day.code, day.stderr.includes("give a day as YYYY-MM-DD")]).toEqual([2, true]);
  });
});
