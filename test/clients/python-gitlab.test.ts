import { appendFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer } from "../../src/testing.ts";
import { isLong } from "../forms.ts";
import { hasPython, newEnvironment } from "../suites/python.ts";
import { API, CLI, type Failures } from "../suites/python-gitlab-failures.ts";

// The functional tests of python-gitlab, which were written for GitLab, from its source archive.

const isRun = isLong && hasPython();
/** They take minutes: this only ends what hangs. */
const LONG = 3_600_000;
const TOKEN = "root-token";

let environment: Awaited<ReturnType<typeof newEnvironment>>;
/** The folder of the source archive. */
let suite: string;

beforeAll(async () => {
  if (!isRun) return;
  environment = await newEnvironment("python-gitlab.txt");
  const { folder, start } = environment;
  const own = readFileSync(new URL("../suites/python-gitlab.txt", import.meta.url), "utf8");
  const version = /^python-gitlab\[.*\](==.*)$/m.exec(own)?.[1];
  const archive = ["--no-binary", ":all:", "--no-deps", `python-gitlab${version}`];
  await start("python", ["-m", "pip", "download", "-q", ...archive]);
  const [name = ""] = readdirSync(folder).filter((file) => file.endsWith(".tar.gz"));
  await start("python", ["-m", "tarfile", "-e", name, "."]);
  suite = join(folder, name.replace(/\.tar\.gz$/, ""));
  const fixtures = fileURLToPath(new URL("../suites/python-gitlab.py", import.meta.url));
  appendFileSync(join(suite, "tests/functional/conftest.py"), readFileSync(fixtures));
}, LONG);
afterAll(() => {
  if (isRun) rmSync(environment.folder, { recursive: true });
});

/** Runs a part of the suite on a new server. @returns the tests that failed, and how many passed */
async function ran(part: string): Promise<{ failed: string[]; passed: number; output: string }> {
  await using server = await startTestServer({
    seed: {
      users: [
        {
          username: "root",
          name: "Administrator",
          email: "root@example.com",
          admin: true,
          tokens: [{ token: TOKEN, scopes: ["api", "sudo", "read_user"] }],
        },
      ],
    },
  });
  const { output } = await environment.start(
    "python",
    [
      ...["-m", "pytest", `tests/functional/${part}`, "-q", "--tb=no", "-rfE"],
      ...["-o", "log_cli=false", "--timeout", "180", "--script-launch-mode=subprocess"],
    ],
    { GITLAB_URL: server.url, GITLAB_TOKEN: TOKEN },
    suite,
  );
  const lines = output.matchAll(/^(?:FAILED|ERROR) tests\/functional\/\w+\/(\S+)/gm);
  const failed = [...lines].map(([, name]) => name as string).sort();
  return { failed, passed: Number(/(\d+) passed/.exec(output)?.[1] ?? 0), output };
}

it.runIf(isRun).each<[part: string, expected: Failures, least: number]>([
  ["api", API, 205],
  ["cli", CLI, 94],
])(
  "python-gitlab's tests of its %s fail where they are expected to, and nowhere else",
  async (part, expected, least) => {
    const { failed, passed, output } = await ran(part);
    expect(passed, output).toBeGreaterThanOrEqual(least);
    expect(failed).toEqual(Object.values(expected).flat().sort());
  },
  LONG,
);
