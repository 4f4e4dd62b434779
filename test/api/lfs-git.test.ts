import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { TestApp } from "../helpers.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";
import { pointerTo } from "./_lfs.ts";

// git-lfs is the client that everybody has.

function hasLfs(): boolean {
  const has = spawnSync("git", ["lfs", "version"]).status === 0;
  if (!has) console.warn("not tested, since there is no git-lfs");
  return has;
}
const HAS_LFS = hasLfs();

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop(async (opened) => {
  ({ app, workshop, git } = opened);
  if (!HAS_LFS) return;
  await git("", "lfs", "install", "--skip-repo");
});

const at = (...path: string[]) => join(workshop.folder, ...path);

async function committed(where: string, message: string) {
  await git(where, "add", ".");
  await git(where, "commit", "--quiet", "-m", message);
}

it.runIf(HAS_LFS)("git-lfs pushes, clones, fetches what is new, locks and unlocks", async () => {
  const content = randomBytes(3_000_000);
  await git("", "clone", "--quiet", workshop.url("acme/site", "maintainer"), "one");
  await git("one", "checkout", "--quiet", "-B", "main");
  await git("one", "lfs", "track", "*.bin");
  writeFileSync(at("one", "large.bin"), content);
  writeFileSync(at("one", "README.md"), "# Site\n");
  await committed("one", "Add a large file");
  await git("one", "push", "--quiet", "origin", "main");

  const raw = await app.call("GET /projects/acme%2Fsite/repository/files/large.bin/raw");
  expect(raw.text).toBe(pointerTo(content));

  // Everybody may read a public project.
  await git("", "clone", "--quiet", workshop.url("acme/site"), "two");
  expect(readFileSync(at("two", "large.bin")).equals(content)).toBe(true);
  expect(existsSync(at("two", ".git/lfs/objects"))).toBe(true);

  await git("two", "remote", "set-url", "origin", workshop.url("acme/site", "developer"));
  writeFileSync(at("one", "large.bin"), "much less");
  await committed("one", "Change it");
  await git("one", "push", "--quiet", "origin", "main");
  await git("two", "pull", "--quiet");
  expect(readFileSync(at("two", "large.bin"), "utf8")).toBe("much less");

  expect(await git("one", "lfs", "lock", "large.bin")).toContain("Locked large.bin");
  expect(await git("two", "lfs", "locks")).toMatch(/large\.bin\s+The maintainer/);
  expect(await workshop.failure("two", "lfs", "lock", "large.bin")).toContain("already locked");
  expect(await workshop.failure("two", "lfs", "unlock", "large.bin")).toContain("locked by");
  expect(await workshop.failure("two", "lfs", "unlock", "--force", "large.bin")).toContain(
    "maintainer access",
  );
  expect(await git("one", "lfs", "unlock", "large.bin")).toContain("Unlocked large.bin");
  expect(await git("one", "lfs", "locks")).toBe("");
});
