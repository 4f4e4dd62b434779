import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

// The tutorial, followed: its files are written as it says, and its tests pass.

const root = fileURLToPath(new URL("../..", import.meta.url));

it("the tutorial's tests pass", async () => {
  const text = await readFile(join(root, "docs/tutorial.md"), "utf8");
  const project = await mkdtemp(join(tmpdir(), "pm-api-tutorial-"));
  try {
    await mkdir(join(project, "node_modules/@gitbeaker"), { recursive: true });
    await symlink(root, join(project, "node_modules/pm-api"));
    const client = "node_modules/@gitbeaker/rest";
    await symlink(join(root, client), join(project, client));
    const files = [...text.matchAll(/In `([\w.]+)`:\n\n```\w+\n(.*?)^```$/gms)];
    for (const [, name = "", code = ""] of files) await writeFile(join(project, name), code);
    expect(text.match(/^```(js|json)$/gm)).toHaveLength(files.length);
    // Only ends what hangs.
    const limits = { cwd: project, timeout: 240_000 };
    const { stdout } = await promisify(execFile)(process.execPath, ["--test"], limits);
    expect(stdout).toMatch(/pass 6\b/);
    expect(stdout).toMatch(/fail 0\b/);
  } finally {
    await rm(project, { recursive: true, force: true });
  }
});
