// Addresses outside of the API that programs call. Git's own client must be installed.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type CallOptions, everyone, sshKeyOf, type TestApp } from "../helpers.ts";
import { expectLinear } from "../relative-time.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";
import { ciProject } from "./_pipelines.ts";

let app: TestApp;
let workshop: Workshop;
let git: Workshop["git"];
shareWorkshop((opened) => {
  ({ app, workshop, git } = opened);
});

const visit = (path: string, options: CallOptions = {}): Promise<Answer> =>
  app.call(`GET http://pm.test${path}`, options);

/** Writes files of the work tree, and commits them. */
async function commit(
  message: string,
  files: Record<string, string | Buffer>,
  author = "A <a@example.com>",
) {
  for (const [name, content] of Object.entries(files)) {
    const path = join(workshop.folder, "work", name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, content);
  }
  await git("work", "add", ".");
  await git("work", "commit", "--quiet", "-m", message, "--author", author);
}

beforeAll(async () => {
  await git("", "init", "--quiet", "--initial-branch=main", "work");
  await commit("First", {
    "README.md": "# Site\n",
    "docs/guide.md": "guide\n",
    "logo.svg": "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
    "logo.png": Buffer.from([137, 80, 78, 71, 0, 1]),
    "data.bin": Buffer.from([0, 1, 2]),
    "page.html": "<script>alert(1)</script>",
    "docs/-/raw/main.txt": "deep\n",
  });
  await git("work", "branch", "docs/v2");
  await git("work", "tag", "-a", "v1.0", "-m", "One");
  await git("work", "checkout", "--quiet", "-b", "feature");
  await commit(
    "Größe: ändern\n\nDer Text.\n\nEnde",
    { "docs/guide.md": "guide\nmore\n" },
    "Jürgen (J) Ü <j@example.com>",
  );
  await commit("Add a file", { "b.txt": "b\n" }, "A, B <a@example.com>");
  for (const path of ["acme/site", "secret/vault"]) {
    await git("work", "push", "--quiet", "--all", workshop.url(path, "owner"));
    await git("work", "push", "--quiet", "--tags", workshop.url(path, "owner"));
  }
});

describe("raw files", () => {
  it("are found by branches with slashes, tags and commits", async () => {
    const sha = await git("work", "rev-parse", "feature");
    for (const [place, text] of [
      ["main/docs/guide.md", "guide\n"],
      ["docs/v2/docs/guide.md", "guide\n"],
      ["docs%2Fv2/docs/guide.md", "guide\n"],
      ["v1.0/README.md", "# Site\n"],
      [`${sha}/docs/guide.md`, "guide\nmore\n"],
      [`${sha.slice(0, 8)}/b.txt`, "b\n"],
      ["HEAD/README.md", "# Site\n"],
      ["main/docs/-/raw/main.txt", "deep\n"],
    ] as const) {
      const { status, text: body } = await visit(`/acme/site/-/raw/${place}`);
      expect([place, status, body]).toEqual([place, 200, text]);
    }
    expect((await visit("/ACME/Site/raw/main/docs/guide.md")).text).toBe("guide\n");
    for (const place of ["main/none", "none/README.md", "main/docs", "main"]) {
      expect((await visit(`/acme/site/-/raw/${place}`, { as: "guest" })).status).toBe(404);
    }
  });

  it("are told again by their digest, and sent as attachments if that is asked for", async () => {
    const { headers } = await visit("/acme/site/-/raw/main/README.md");
    expect(headers.get("content-disposition")).toMatch(/^inline/);
    const etag = headers.get("etag") as string;
    const again = await visit("/acme/site/-/raw/main/README.md", {
      headers: { "if-none-match": etag },
    });
    expect(again.status).toBe(304);
    const attached = await visit("/acme/site/-/raw/main/README.md?inline=false");
    expect(attached.headers.get("content-disposition")).toMatch(/^attachment/);
    const head = await app.call("HEAD http://pm.test/acme/site/-/raw/main/README.md");
    expect([head.status, head.text]).toEqual([200, ""]);
  });

  it("never run in a browser", async () => {
    for (const [name, type, disposition] of [
      ["page.html", "text/plain; charset=utf-8", "inline"],
      ["logo.svg", "image/svg+xml", "attachment"],
      ["logo.png", "image/png", "inline"],
      ["data.bin", "application/octet-stream", "attachment"],
    ] as const) {
      const { headers } = await visit(`/acme/site/-/raw/main/${name}`);
      expect([name, headers.get("content-type"), headers.get("x-content-type-options")]).toEqual([
        ...[name, type, "nosniff"],
      ]);
      expect(headers.get("content-disposition")).toMatch(new RegExp(`^${disposition};`));
      expect(headers.get("content-security-policy")).toMatch(/sandbox/);
    }
  });

  it("are for whoever may read the code; others are told nothing", async () => {
    const statuses: Record<string, number> = {};
    for (const as of everyone) {
      statuses[as] = (await visit("/secret/vault/-/raw/main/README.md", { as })).status;
    }
    expect(statuses).toEqual({
      ...{ anonymous: 302, stranger: 404, guest: 403, reporter: 200 },
      ...{ developer: 200, maintainer: 200, owner: 200, admin: 200 },
    });
    const places = ["/secret/vault/-/raw/main/README.md?a=b", "/secret/none/-/raw/main/README.md"];
    for (const place of places) {
      const { status, headers } = await visit(place);
      expect([status, headers.get("location")]).toEqual([
        302,
        `/users/sign_in?return_to=${encodeURIComponent(place)}`,
      ]);
    }
    const post = await app.call("POST http://pm.test/secret/vault/-/raw/main/README.md");
    expect(post.status).toBe(405);
  });

  it("are read with a token as the password, too, as programs read addresses", async () => {
    const basic = `Basic ${Buffer.from("any:token-of-reporter").toString("base64")}`;
    const { status, text } = await visit("/secret/vault/-/raw/main/README.md", {
      headers: { authorization: basic },
    });
    expect([status, text]).toEqual([200, "# Site\n"]);
  });

  it("tell programs in a line what is wrong, and people on a page", async () => {
    const program = await visit("/acme/site/-/raw/main/none", { as: "guest" });
    expect([program.headers.get("content-type"), program.text]).toEqual([
      "text/plain; charset=utf-8",
      "404 File Not Found\n",
    ]);
    const person = await visit("/acme/site/-/raw/main/none", {
      as: "guest",
      headers: { accept: "text/html" },
    });
    expect(person.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(person.text).toContain("Not found");
  });
});

describe("archives", () => {
  const names = (archive: Buffer) =>
    execFileSync("tar", ["-tzf", "-"], { input: archive }).toString().trim().split("\n");
  const bytes = async (path: string) => {
    const answer = await app.fetch(new Request(`http://pm.test${path}`));
    expect(answer.status).toBe(200);
    const disposition = answer.headers.get("content-disposition");
    return { disposition, archive: Buffer.from(await answer.arrayBuffer()) };
  };

  it("have the folder that their address names", async () => {
    const { archive, disposition } = await bytes("/acme/site/-/archive/v1.0/site-v1.0.tar.gz");
    expect(disposition).toMatch(/filename="site-v1.0.tar.gz"/);
    expect(names(archive)).toContain("site-v1.0/README.md");
    const nested = await bytes("/acme/site/-/archive/docs/v2/site-docs-v2.tar.gz?path=docs");
    expect(names(nested.archive)).toContain("site-docs-v2-docs/docs/guide.md");
  });

  it("have the commit in their folder's name, if the address has another name or none", async () => {
    const sha = await git("work", "rev-parse", "main");
    for (const place of ["main/other.tar.gz", "main.tar.gz"]) {
      const { archive } = await bytes(`/acme/site/-/archive/${place}`);
      expect(names(archive)).toContain(`site-main-${sha}/README.md`);
    }
    const zip = await bytes("/acme/site/-/archive/main/site-main.zip");
    expect(zip.archive.subarray(0, 2).toString()).toBe("PK");
  });

  it("are refused in formats that there are not", async () => {
    const statusOf = async (place: string) =>
      (await visit(`/acme/site/-/archive/${place}`, { as: "guest" })).status;
    expect(await statusOf("main/site-main.tar.bz2")).toBe(400);
    expect(await statusOf("main/site-main.rar")).toBe(404);
    expect(await statusOf("none/site-none.zip")).toBe(404);
  });
});

describe("patches", () => {
  it("of a commit make the same commit again", async () => {
    const shas = (await git("work", "rev-list", "--reverse", "main..feature")).split("\n");
    await git("", "clone", "--quiet", "--branch=main", workshop.url("acme/site"), "applied");
    for (const sha of shas) {
      const { headers, text } = await visit(`/acme/site/-/commit/${sha}.patch`);
      expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
      writeFileSync(join(workshop.folder, "one.patch"), text);
      await git("applied", "am", "--quiet", "../one.patch");
      const facts = "--format=%an|%ae|%ad|%s|%b|%T";
      expect(await git("applied", "log", "-1", facts)).toBe(
        await git("work", "log", "-1", facts, sha),
      );
    }
    const whole = await visit(`/acme/site/-/commit/${shas[0]}.diff`);
    expect(whole.text).toBe(
      `${await git("work", "diff", "--full-index", `${shas[0]}^`, shas[0] as string)}\n`,
    );
    expect((await visit("/acme/site/-/commit/ffffffff.patch", { as: "guest" })).status).toBe(404);
  });

  it("of a merge request are those of its commits, in order", async () => {
    const made = await app.call("POST /projects/acme%2Fsite/merge_requests", {
      as: "developer",
      json: { source_branch: "feature", target_branch: "main", title: "Feature" },
    });
    const { iid } = made.json;
    const { text } = await visit(`/acme/site/-/merge_requests/${iid}.patch`);
    expect(text.match(/^Subject: .*$/gm)).toEqual([
      `Subject: =?UTF-8?B?${Buffer.from("[PATCH 1/2] Größe: ändern").toString("base64")}?=`,
      "Subject: [PATCH 2/2] Add a file",
    ]);
    await git("", "clone", "--quiet", "--branch=main", workshop.url("acme/site"), "merged");
    writeFileSync(join(workshop.folder, "all.patch"), text);
    await git("merged", "am", "--quiet", "../all.patch");
    expect(await git("merged", "rev-parse", "HEAD^{tree}")).toBe(
      await git("work", "rev-parse", "feature^{tree}"),
    );
    const diff = await visit(`/acme/site/-/merge_requests/${iid}.diff`);
    expect(diff.text).toBe(`${await git("work", "diff", "--full-index", "main", "feature")}\n`);
    expect((await visit("/acme/site/-/merge_requests/99.patch", { as: "guest" })).status).toBe(404);
    expect((await visit("/secret/vault/-/merge_requests/1.patch")).status).toBe(302);
  });
});

it("an address is read in linear time, whatever words it repeats", async () => {
  for (const word of ["/-/jobs/artifacts/x", "/badges/x", "/raw", "/uploads/x", "/-/raw/x"]) {
    await expectLinear((words) => visit(`/a${word.repeat(words)}`, { as: "guest" }), 4000, word);
  }
});

describe("keys of a user", () => {
  it("are those that they sign in with, without what tells who they are", async () => {
    const add = (number: number, more: object = {}) =>
      app.call("POST /user/keys", {
        as: "developer",
        json: { title: `k${number}`, key: `${sshKeyOf(number)} ann@example.com`, ...more },
      });
    await add(1);
    await add(2, { usage_type: "signing" });
    await add(3, { expires_at: "2000-01-01T00:00:00Z" });
    await add(4);
    const { status, headers, text } = await visit("/Developer.keys");
    expect([status, headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
    const bare = (number: number) => sshKeyOf(number).split(" ").slice(0, 2).join(" ");
    expect(text).toBe([1, 4].map((one) => `${bare(one)} The developer (pm.test)\n`).join(""));
    expect((await visit("/guest.keys")).text).toBe("");
    expect((await visit("/nobody.keys", { as: "guest" })).status).toBe(404);
  });
});

describe("whether a name is taken", () => {
  it("is told those who are signed in, of users and groups", async () => {
    const exists = async (name: string) =>
      (await visit(`/users/${name}/exists`, { as: "guest" })).json;
    expect(await exists("Developer")).toEqual({ exists: true });
    expect(await exists("acme")).toEqual({ exists: true });
    expect(await exists("nobody")).toEqual({ exists: false });
    const { status, headers } = await visit("/users/developer/exists");
    expect([status, headers.get("location")]).toEqual([302, expect.stringContaining("sign_in")]);
  });
});

describe("go get", () => {
  const moduleOf = async (path: string, as?: CallOptions) => {
    const { status, text } = await visit(`${path}?go-get=1`, as);
    expect(status).toBe(200);
    return /<meta name="go-import" content="([^"]*)">/.exec(text)?.[1];
  };

  it("is told the repository of a package", async () => {
    const site = "pm.test/acme/site git http://pm.test/acme/site.git";
    expect(await moduleOf("/acme/site")).toBe(site);
    expect(await moduleOf("/acme/site/cmd/tool")).toBe(site);
    expect(await moduleOf("/acme/team/core/cmd", { as: "reporter" })).toBe(
      "pm.test/acme/team/core git http://pm.test/acme/team/core.git",
    );
  });

  it("is not told whether there is a project that the caller may not see", async () => {
    for (const path of ["/secret/vault", "/secret/none", "/secret/vault/cmd"]) {
      const [, group, name] = path.split("/");
      expect(await moduleOf(path)).toBe(
        `pm.test/${group}/${name} git http://pm.test/${group}/${name}.git`,
      );
    }
    expect(await moduleOf("/acme/team/core/cmd")).toBe(
      "pm.test/acme/team git http://pm.test/acme/team.git",
    );
  });

  it("is refused for what can't be a project", async () => {
    expect((await visit("/acme?go-get=1", { as: "guest" })).status).toBe(404);
  });

  it("leaves other requests alone", async () => {
    const passed: string[] = [];
    for (const path of [
      "/acme/site",
      "/acme/site?go-get=1",
      "/acme/raw",
      "/acme.keys",
      "/a/b.keys",
    ]) {
      await app.handler({
        request: new Request(`http://pm.test${path}`),
        ...{ ip: "", platform: undefined, env: () => undefined, waitUntil: () => undefined },
        passThrough: () => void passed.push(path),
      });
    }
    expect(passed).toEqual(["/acme/site", "/acme/raw", "/a/b.keys"]);
  });
});

describe("badges", () => {
  const shown = async (path: string, as?: CallOptions) => {
    const { status, text, headers } = await visit(path, as);
    if (status !== 200) return status;
    expect(headers.get("content-type")).toBe("image/svg+xml");
    const color = /<path fill="(#\w+)" d="M[1-9]\d* /.exec(text)?.[1];
    return [...text.matchAll(/<text[^>]*>([^<]*)</g)].map(([, part]) => part).concat(color);
  };
  const report = (state: string, more: object = {}) =>
    app.call(`POST /projects/acme%2Fsite/statuses/${sha}`, {
      as: "maintainer",
      json: { state, ref: "main", name: "test", ...more },
    });
  let sha = "";

  it("show the newest pipeline of a branch", async () => {
    sha = await git("work", "rev-parse", "main");
    const badge = (query = "") => shown(`/acme/site/badges/main/pipeline.svg${query}`);
    expect(await badge()).toEqual(["pipeline", "unknown", "#9f9f9f"]);
    await report("running");
    expect(await badge()).toEqual(["pipeline", "running", "#dfb317"]);
    await report("success");
    expect(await badge("?key_text=%3Cci%3E&key_width=99")).toEqual([
      "&lt;ci&gt;",
      "passed",
      "#4c1",
    ]);
    expect(await shown("/acme/site/badges/docs/v2/pipeline.svg")).toEqual([
      ...["pipeline", "unknown", "#9f9f9f"],
    ]);
    expect(await badge("?key_width=600")).toBe(400);
  });

  it("show its coverage, in the colours that are asked for", async () => {
    const badge = (query = "") => shown(`/acme/site/badges/main/coverage.svg${query}`);
    expect(await badge()).toEqual(["coverage", "unknown", "#9f9f9f"]);
    await report("success", { coverage: 87.5, name: "covered" });
    expect(await badge()).toEqual(["coverage", "87.50%", "#dfb317"]);
    expect(await badge("?job=covered&min_good=80")).toEqual(["coverage", "87.50%", "#4c1"]);
    expect(await badge("?min_medium=88&min_acceptable=89")).toEqual([
      ...["coverage", "87.50%", "#e05d44"],
    ]);
    expect(await badge("?job=none")).toEqual(["coverage", "unknown", "#9f9f9f"]);
  });

  it("show the latest release, and are for those who may see what they show", async () => {
    const badge = "/secret/vault/-/badges/release.svg";
    expect(await shown(badge, { as: "reporter" })).toEqual(["Latest Release", "none", "#e05d44"]);
    await app.call("POST /projects/secret%2Fvault/releases", {
      as: "maintainer",
      json: { tag_name: "v1.0" },
    });
    expect(await shown(badge, { as: "reporter" })).toEqual(["Latest Release", "v1.0", "#3076af"]);
    for (const path of [badge, "/secret/vault/badges/main/pipeline.svg"]) {
      expect(await shown(path)).toBe(302);
      expect(await shown(path, { as: "stranger" })).toBe(404);
    }
  });
});

describe("what the API has, too", () => {
  it("uploads are at the project's address", async () => {
    const form = new FormData();
    form.append("file", new Blob(["hello"]), "a.txt");
    const made = await app.call("POST /projects/acme%2Fsite/uploads", {
      as: "developer",
      body: form,
    });
    const { status, text } = await visit(`/acme/site${made.json.url}`);
    expect([status, text]).toEqual([200, "hello"]);
  });

  it("snippets are, of projects and personal ones", async () => {
    const file = { title: "S", file_name: "a.txt", content: "text", visibility: "public" };
    for (const path of ["/projects/acme%2Fsite/snippets", "/snippets"]) {
      const made = await app.call(`POST ${path}`, { as: "maintainer", json: file });
      expect((await app.call(`GET ${made.json.raw_url}`, { as: "guest" })).text).toBe("text");
    }
  });

  it("downloads of releases are, also of the latest", async () => {
    const links = [
      { name: "Tool", url: "https://example.com/tool", direct_asset_path: "/bin/tool" },
    ];
    await app.call("POST /projects/acme%2Fsite/releases", {
      as: "maintainer",
      json: { tag_name: "v1.0", assets: { links } },
    });
    const latest = await visit("/acme/site/-/releases/permalink/latest/downloads/bin/tool");
    const location = "http://pm.test/acme/site/-/releases/v1.0/downloads/bin/tool";
    expect([latest.status, latest.headers.get("location")]).toEqual([302, location]);
    const asset = await visit(location.slice("http://pm.test".length));
    expect(asset.headers.get("location")).toBe("https://example.com/tool");
  });

  it("jobs' logs and artifacts are", async () => {
    const project = await ciProject(app, "built", "job: {script: [make], artifacts: {paths: [a]}}");
    const made = await project.call("POST /runners", { as: "owner" });
    expect(made.status).toBeGreaterThanOrEqual(400);
    const runner = await app.call("POST /user/runners", {
      as: "owner",
      json: { runner_type: "project_type", project_id: project.id, run_untagged: true },
    });
    await project.call("POST /pipeline", { as: "owner", json: { ref: "main" } });
    const { json: job } = await app.call("POST /jobs/request", {
      json: { token: runner.json.token },
    });
    const headers = { "job-token": job.token };
    await app.call(`PATCH /jobs/${job.id}/trace`, {
      headers: { ...headers, "content-range": "0-4", "content-type": "text/plain" },
      body: "log!\n",
    });
    const form = new FormData();
    form.append("file", new Blob(["PK"]), "artifacts.zip");
    await app.call(`POST /jobs/${job.id}/artifacts?artifact_format=zip&artifact_type=archive`, {
      ...{ headers, body: form },
    });
    await app.call(`PUT /jobs/${job.id}`, { json: { token: job.token, state: "success" } });
    for (const [address, text] of [
      [`/-/jobs/${job.id}/raw`, "log!\n"],
      [`/-/jobs/${job.id}/artifacts/download`, "PK"],
      ["/-/jobs/artifacts/main/download?job=job", "PK"],
    ] as const) {
      const found = await visit(`/secret/built${address}`, { as: "reporter" });
      expect([address, found.status, found.text]).toEqual([address, 200, text]);
      expect((await visit(`/secret/built${address}`)).status).toBe(302);
      expect((await visit(`/secret/built${address}`, { as: "stranger" })).status).toBe(404);
    }
  });
});
