import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { run } from "../cli/helpers.ts";

const folder = fileURLToPath(new URL("../../docs/deploy", import.meta.url));
const read = (name: string) => readFileSync(join(folder, name), "utf8");

it("uses only settings that pm-cli serve has", async () => {
  const { stdout: help } = await run(["serve", "--help"]);
  const named = readdirSync(folder).flatMap(
    (name) => read(name).match(/PM_\w+|--trust-proxy/g) ?? [],
  );
  expect(new Set(named).size).toBeGreaterThan(4);
  expect([...new Set(named)].filter((name) => !help.includes(name))).toEqual([]);
});

it("uses the server's health routes", () => {
  for (const name of ["Dockerfile", "Caddyfile"]) expect(read(name)).toContain("/-/readiness");
});

const hasSystemd = (() => {
  try {
    return execFileSync("systemd-analyze", ["--version"]).length > 0;
  } catch {
    return false;
  }
})();

// systemd is not installed everywhere.
it.skipIf(!hasSystemd)("has a unit that systemd accepts", () => {
  const copy = mkdtempSync(join(tmpdir(), "pm-unit-"));
  // The programs it starts have to exist.
  const unit = read("pm-api@.service").replace("/usr/local/bin/pm-cli", process.execPath);
  writeFileSync(join(copy, "pm-api@.service"), unit);
  const options = { stdio: "pipe" } as const;
  execFileSync("systemd-analyze", ["verify", join(copy, "pm-api@3000.service")], options);
  const file = join(copy, "pm-api@3000.service");
  // In tenths: 0 is fully sandboxed, 10 is no hardening.
  execFileSync("systemd-analyze", ["security", "--offline=yes", "--threshold=20", file], options);
  rmSync(copy, { recursive: true });
});
