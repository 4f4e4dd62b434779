// Changelogs, submodules and signatures of tags.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { entry, Objects, push } from "../packs.ts";

let app: TestApp;
const ids: Record<string, string> = {};
const WORK = "/projects/owner%2Fwork";
const LOG = `${WORK}/repository/changelog`;

const send = async (request: string, json: object, as: Person = "owner") => {
  const answer = await app.call(request, { as, json });
  return answer;
};
const commit = async (message: string, path: string, branch = "main", content = path) => {
  const actions = [{ action: "create", file_path: path, content }];
  const json = { branch, commit_message: message, actions };
  const { status, json: made } = await send(`POST ${WORK}/repository/commits`, json);
  expect(status).toBe(201);
  ids[path] = made.id;
};
const notes = async (query: string) => {
  const { status, json, text } = await app.call(`GET ${LOG}?${query}`, { as: "owner" });
  expect(status, text).toBe(200);
  return json.notes as string;
};

beforeAll(async () => {
  app = await testApp();
  await send("POST /projects", { name: "work" });
  await commit("Begin\n\nChangelog: added", "begin");
  await send(`POST ${WORK}/repository/tags`, { tag_name: "v1.0.0", ref: "main" });
  await send(`POST ${WORK}/repository/tags`, { tag_name: "v1.1.0-rc1", ref: "main" });
  await send(`POST ${WORK}/repository/tags`, { tag_name: "other", ref: "main" });
  await commit("Add a thing\n\nText.\n\nChangelog: added", "thing");
  await commit("Add another\n\nChangelog: added\nSigned-off-by: A <a@b.c>", "another");
  await commit("Mend it\n\nChangelog: fixed\nOther: x", "mended");
  await commit("Say nothing", "nothing");
  await commit("Try\n\nChangelog: added", "tried");
  await commit(`Revert "Try"\n\nThis reverts commit ${ids["tried"]}.`, "reverted");
});
afterAll(() => app.dispose());

describe("GET /projects/:id/repository/changelog", () => {
  it("has the titles of commits with the trailer since the last release, without what was reverted", async () => {
    const text = await notes("version=1.1.0&date=2026-06-15T12:00:00Z");
    expect(text).toBe(
      [
        "## 1.1.0 (2026-06-15)",
        "",
        "### fixed (1 change)",
        "",
        `- [Mend it](owner/work@${ids["mended"]})`,
        "",
        "### added (2 changes)",
        "",
        `- [Add another](owner/work@${ids["another"]})`,
        `- [Add a thing](owner/work@${ids["thing"]})`,
        "",
      ].join("\n"),
    );
    expect(await notes("version=v1.1.0&from=v1.0.0")).toMatch(/^## 1\.1\.0 \(\d{4}-\d\d-\d\d\)\n/);
  });

  it("takes ends and another trailer", async () => {
    const range = `version=1.1.0&from=${ids["thing"]}&to=${ids["mended"]}`;
    const text = await notes(range);
    expect(text).toContain("### added (1 change)");
    expect(text).not.toContain("Add a thing");
    expect(await notes(`${range}&trailer=Other`)).toContain("### x (1 change)");
    expect(await notes(`${range}&trailer=None`)).toMatch(/\n\nNo changes\.\n$/);
  });

  it("names categories as the settings say, which may be those of another commit", async () => {
    const path = ".gitlab/changelog_config.yml";
    await send(`POST ${WORK}/repository/commits`, {
      ...{ branch: "settings", start_branch: "main", commit_message: "Settings" },
      actions: [
        {
          action: "create",
          file_path: path,
          content: "categories:\n  added: New\n  fixed: Bugs\n",
        },
        { action: "create", file_path: "bad.yml", content: "template: x\n" },
        { action: "create", file_path: "worse.yml", content: "a: [\n" },
      ],
    });
    const text = await notes("version=1.1.0&config_file_ref=settings");
    expect(text).toContain("### New (2 changes)");
    expect(text).toContain("### Bugs (1 change)");
    for (const [file, reason] of [
      ["bad.yml", "template is not supported on this server"],
      ["worse.yml", "(<unknown>)"],
    ]) {
      const query = `version=1.1.0&config_file_ref=settings&config_file=${file}`;
      const { status, json } = await app.call(`GET ${LOG}?${query}`, { as: "owner" });
      expect(status).toBe(422);
      expect(json.message).toContain(`Failed to generate the changelog: ${reason}`);
    }
  });

  it("names the merge requests that brought commits", async () => {
    for (const at of [1, 2]) {
      const actions = [{ action: "create", file_path: `f${at}`, content: "f" }];
      const json = { branch: "feature", commit_message: `F${at}\n\nChangelog: feature`, actions };
      const from = at === 1 ? { start_branch: "main" } : {};
      const made = await send(`POST ${WORK}/repository/commits`, { ...json, ...from });
      ids[`f${at}`] = made.json.id;
    }
    const request = { source_branch: "feature", target_branch: "main", title: "F" };
    const { json } = await send(`POST ${WORK}/merge_requests`, request);
    const merged = await send(`PUT ${WORK}/merge_requests/${json.iid}/merge`, {});
    expect(merged.status).toBe(200);
    const text = await notes("version=1.1.0");
    for (const at of ["f1", "f2"]) {
      expect(text).toContain(
        `](owner/work@${ids[at]}) ([merge request](owner/work!${json.iid}))\n`,
      );
    }
    expect(text).toContain(`](owner/work@${ids["mended"]})\n`);
  });

  it.each([
    ["version=one", 422, /one is not a semantic version/],
    ["version=0.9.0", 422, /commit start range is unspecified/],
    ["version=1.1.0&from=nosuch", 422, /the commit nosuch does not exist/],
    ["", 400, /version/],
  ])("refuses %s with %i", async (query, expected, message) => {
    const { status, text } = await app.call(`GET ${LOG}?${query}`, { as: "owner" });
    expect(status).toBe(expected);
    expect(text).toMatch(message);
  });

  it("is for those who may read the code", async () => {
    expect((await app.call(`GET ${LOG}?version=1.1.0`, { as: "stranger" })).status).toBe(404);
  });
});

describe("POST /projects/:id/repository/changelog", () => {
  const raw = async (file: string) =>
    (await app.call(`GET ${WORK}/repository/files/${file}/raw?ref=main`, { as: "owner" })).text;

  it("puts the section above the others, with a commit", async () => {
    const made = await send(`POST ${LOG}`, { version: "1.1.0", date: "2026-06-15" });
    expect([made.status, made.json]).toEqual([200, true]);
    const first = await raw("CHANGELOG.md");
    expect(first).toMatch(/^## 1\.1\.0 \(2026-06-15\)\n\n### /);
    const [newest] = (await app.call(`GET ${WORK}/repository/commits`, { as: "owner" })).json;
    expect(newest.title).toBe("Add changelog for version 1.1.0");
    await send(`POST ${WORK}/repository/commits`, {
      ...{ branch: "main", commit_message: "Head" },
      actions: [
        { action: "create", file_path: "docs/LOG.md", content: "# Changes\n\n## 0.1 (x)\n" },
      ],
    });
    const second = { version: "1.2.0", from: "v1.0.0", file: "docs/LOG.md", message: "Log" };
    expect((await send(`POST ${LOG}`, second)).status).toBe(200);
    expect(await raw("docs%2FLOG.md")).toMatch(
      /^# Changes\n\n## 1\.2\.0 [\s\S]*\n\n## 0\.1 \(x\)\n$/,
    );
  });

  it("needs the right to push", async () => {
    const users = (await app.call("GET /users?username=developer", { as: "admin" })).json;
    await send(`POST ${WORK}/members`, { user_id: users[0].id, access_level: 30 });
    const protectedMain = await send(
      `POST ${LOG}`,
      { version: "1.3.0", from: "v1.0.0" },
      "developer",
    );
    expect(protectedMain.status).toBe(403);
    expect((await send(`POST ${LOG}`, { version: "1.3.0" }, "stranger")).status).toBe(404);
    expect((await send(`POST ${LOG}`, { version: "x" })).status).toBe(422);
  });
});

describe("submodules and signed tags", () => {
  const at = "a".repeat(40);
  const to = "b".repeat(40);
  beforeAll(async () => {
    await send("POST /projects", { name: "modules" });
    const objects = new Objects();
    const file = objects.add("blob", "a");
    const lib = objects.add("tree", entry("160000", "dep", Buffer.from(at, "hex")));
    const tree = objects.add(
      "tree",
      Buffer.concat([entry("100644", "file", file), entry("40000", "lib", lib)]),
    );
    const main = objects.commit(tree, []);
    const tag = (name: string, text: string) =>
      objects.add(
        "tag",
        `object ${main.toString("hex")}\ntype commit\ntag ${name}\ntagger A <a@b> 1700000000 +0000\n\n${text}`,
      );
    const pgp = "-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n";
    const x509 = "-----BEGIN SIGNED MESSAGE-----\nabc\n-----END SIGNED MESSAGE-----\n";
    const refs = {
      "refs/heads/main": main,
      "refs/tags/pgp": tag("pgp", `Text\n${pgp}`),
      "refs/tags/x509": tag("x509", `Text\n${x509}`),
      "refs/tags/plain": tag("plain", "Text\n"),
      "refs/tags/light": main,
    };
    expect(await push(app, "owner/modules", objects.pack, refs)).toContain("unpack ok");
  });
  const SUBMODULES = "/projects/owner%2Fmodules/repository/submodules";

  it("are moved to another commit", async () => {
    const made = await send(`PUT ${SUBMODULES}/lib%2Fdep`, { branch: "main", commit_sha: to });
    expect(made.status, made.text).toBe(200);
    expect(made.json).toMatchObject({
      title: `Update submodule lib/dep with oid ${to}`,
      author_name: "The owner",
      parent_ids: [expect.any(String)],
    });
    const tree = await app.call("GET /projects/owner%2Fmodules/repository/tree?path=lib", {
      as: "owner",
    });
    expect(tree.json[0]).toMatchObject({ id: to, type: "commit", mode: "160000" });
  });

  it.each([
    ["lib%2Fdep", { commit_sha: to }, 400, `The submodule lib/dep is already at ${to}`],
    ["file", { commit_sha: at }, 400, "Invalid submodule path"],
    ["nosuch", { commit_sha: at }, 400, "Invalid submodule path"],
    ["lib%2Fdep", { commit_sha: "main" }, 400, "commit_sha"],
    ["lib%2Fdep", {}, 400, "commit_sha"],
  ])("refuses to change %s to %o", async (path, json, status, message) => {
    const answer = await send(`PUT ${SUBMODULES}/${path}`, { branch: "main", ...json });
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(message);
  });

  it("refuses callers who may not push", async () => {
    const json = { branch: "main", commit_sha: at };
    expect((await send(`PUT ${SUBMODULES}/lib%2Fdep`, json, "stranger")).status).toBe(404);
  });

  it("tell what made the signature, where that can't be verified", async () => {
    const signature = (name: string) =>
      app.call(`GET /projects/owner%2Fmodules/repository/tags/${name}/signature`, { as: "owner" });
    const unverified = { verification_status: "unverified" };
    expect((await signature("pgp")).json).toMatchObject({ signature_type: "PGP", ...unverified });
    expect((await signature("x509")).json).toEqual({ signature_type: "X509", ...unverified });
    for (const name of ["plain", "light"]) {
      const { status, json } = await signature(name);
      expect([status, json]).toEqual([404, { message: "404 Signature Not Found" }]);
    }
    expect((await signature("nosuch")).json).toEqual({ message: "404 Tag Not Found" });
  });
});

it("a section of more than two million characters is refused", async () => {
  for (const name of ["one", "two", "three"]) {
    await commit(`${"x".repeat(1_000_000)}\n\nChangelog: added`, name);
  }
  const { status, json } = await app.call(`GET ${LOG}?version=3.0.0`, { as: "owner" });
  const message = "Failed to generate the changelog: the section would be too long";
  expect([status, json]).toEqual([422, { message }]);
  expect(await notes("version=3.0.0&from=main~1")).toContain("(1 change)");
});
