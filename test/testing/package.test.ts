import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

const program = `
  const server = await startTestServer();
  const headers = { "private-token": server.token };
  const { username } = await (await fetch(server.url + "/api/v4/user", { headers })).json();
  const error = await startTestServer({ seed: { groups: [{}] } }).catch((reason) => reason);
  server.faults.add({ delay: 60_000 });
  fetch(server.url + "/api/v4/user", { headers }).catch(() => undefined);
  while (server.requests.length < 2) await new Promise(setImmediate);
  await server.close();
  console.log(username, error instanceof SeedError);
`;

describe("the built package", () => {
  it.each([
    [
      "ESM",
      "module",
      `import { SeedError } from "pm-api";
       import { startTestServer } from "pm-api/testing";
       ${program}`,
    ],
    [
      "CommonJS",
      "commonjs",
      `const { SeedError } = require("pm-api");
       const { startTestServer } = require("pm-api/testing");
       (async () => { ${program} })();`,
    ],
  ])("provides the test server as %s, without keeping the process alive", async (_, type, code) => {
    const args = [`--input-type=${type}`, "--eval", code];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: root,
      timeout: 60_000,
    });
    expect(stdout).toBe("root true\n");
  });
});
