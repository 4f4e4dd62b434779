import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startTestServer } from "pm-api/testing";

const server = await startTestServer({
  seed: {
    users: [{ username: "ada", name: "Ada", tokens: [{ token: "ada-token" }] }],
    groups: [
      {
        path: "acme",
        members: { ada: "owner" },
        projects: [
          {
            path: "site",
            pushes: [
              {
                author: "ada",
                ref: "main",
                commits: [{ message: "Begin the site", files: { "README.md": "# Site\n" } }],
              },
            ],
          },
        ],
      },
    ],
  },
});
const folder = await mkdtemp(join(tmpdir(), "site-"));
const readme = join(folder, "README.md");

/** Runs Git in the folder. Not `execFileSync`: the server is in this process and must be able to answer. */
async function git(...args) {
  const ada = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
  return (await promisify(execFile)("git", [...ada, ...args], { cwd: folder })).stdout.trim();
}

/** Calls the API with the token, and throws unless it succeeds. */
async function call(method, path, body) {
  const headers = { "private-token": "ada-token", "content-type": "application/json" };
  const init = { method, headers, body: body && JSON.stringify(body) };
  const answer = await fetch(`${server.url}/api/v4/projects/acme%2Fsite/repository${path}`, init);
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return answer.json();
}

// The password is the token; the user name does not matter.
const url = new URL("/acme/site.git", server.url);
url.username = "ada";
url.password = "ada-token";
await git("clone", "--quiet", url.href, ".");
await writeFile(readme, "# Site\n\nWhat Acme sells.\n");
await git("commit", "--quiet", "--all", "--message", "Say what it is");
await git("push", "--quiet");

for (const { title } of await call("GET", "/commits?ref_name=main")) console.log(title);
const file = await call("GET", "/files/README.md?ref=main");
console.log(Buffer.from(file.content, "base64").toString().split("\n").at(-2));

await call("PUT", "/files/README.md", {
  branch: "main",
  commit_message: "Say it shorter",
  content: "# Acme\n",
});
await git("pull", "--quiet");
console.log(await readFile(readme, "utf8"));

await rm(folder, { recursive: true });
await server.close();
