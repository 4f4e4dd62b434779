import { afterAll, beforeAll, expect, it } from "vitest";
import { newFolder, run, runJson } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
beforeAll(async () => {
  const ada = ["--username", "ada", "--name", "Ada", "--email", "ada@x.test"];
  await runJson(["user", "create", ...ada], at);
  await runJson(["group", "create", "--path", "acme", "--name", "Acme", "--owner", "ada"], at);
});
afterAll(folder.remove);

it("is created, shown, listed and deleted", async () => {
  expect((await run(["project", "list"], at)).stdout).toBe(
    "There are no projects: `pm-cli project create` creates one.\n",
  );
  const site = ["--namespace", "acme", "--path", "site", "--name", "Site"];
  const { stdout } = await run(["project", "create", ...site], at);
  expect(stdout).toMatch(
    /^Created the private project acme\/site \(id \d+\)\.\n.*pm-cli member add --project acme\/site /,
  );
  const notes = ["--namespace", "ada", "--path", "notes", "--name", "Notes"];
  const created = await runJson(["project", "create", ...notes, "--visibility", "public"], at);
  expect(created).toMatchObject({ full_path: "ada/notes", visibility: "public", archived: false });
  expect((await run(["project", "list"], at)).stdout).toMatch(/│ acme\/site +│ Site /);
  expect(await runJson(["project", "show", "ada/notes"], at)).toEqual(created);
  const unasked = await run(["project", "delete", "acme/site"], at);
  expect([unasked.code, unasked.stdout]).toEqual([2, ""]);
  const deleted = await run(["project", "delete", "acme/site", "--yes"], at);
  expect(deleted.stdout).toBe("acme/site is deleted.\n");
  expect(await runJson(["project", "list"], at)).toEqual([created]);
});

it("reports errors and what to do", async () => {
  expect(await run(["project", "show", "acme/nothing"], at)).toEqual({
    code: 1,
    stdout: "",
    stderr: "error: there is no such project: `pm-cli project list` shows them all\n",
  });
  const create = (...more: string[]) => run(["project", "create", "--path", "x", ...more], at);
  expect((await create("--name", "X", "--namespace", "nowhere")).stderr).toBe(
    "error: there is no such namespace: `pm-cli group list` and `pm-cli user list` show them all\n",
  );
  const level = await create("--name", "X", "--namespace", "acme", "--visibility", "open");
  expect([level.code, level.stderr.includes("private, internal, public")]).toEqual([2, true]);
  expect((await create("--name", "X")).stderr).toBe("error: --namespace is required\n");
});
