// Requests that cost far more than they answer. None may keep others waiting, take much memory, or go on for nobody.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Draft } from "../../src/git/draft.ts";
import { BLOB } from "../../src/git/objects.ts";
import { Packs } from "../../src/git/packs.ts";
import { patchOf } from "../../src/git/patches.ts";
import { Repository } from "../../src/git/repository.ts";
import { type Server, serve } from "../../src/node.ts";
import { Budget } from "../../src/turns/budget.ts";
import { longestTurn, MEMORY, memoryOf, pausesAfterLeaving } from "../attacks.ts";
import { type CallOptions, engine, type TestApp, testApp, tokenOf } from "../helpers.ts";
import { entry, Objects, pushHeaders, pushOf, push as pushTo, pushTo as send } from "../packs.ts";

let app: TestApp;
const failures: unknown[] = [];
beforeAll(async () => {
  app = await testApp({ onError: (error) => failures.push(error) });
});
afterAll(async () => {
  await app.dispose();
  expect(failures).toEqual([]);
});

/** On other runtimes expressions take longer beside JSON, and memory is collected later. */
const isNode = !process.versions["bun"] && !process.versions["deno"];
/** Turns are this many times as long as parsing 1 MiB of JSON at most; 2 are aimed at. */
const MOST = isNode ? 8 : 24;

/** Makes a public project and pushes objects to it. Returns its path in the API. */
async function project(name: string, sent: Buffer, refs: Readonly<Record<string, Buffer>>) {
  const made = await app.call("POST /projects", {
    as: "owner",
    json: { name, visibility: "public", initialize_with_readme: false },
  });
  expect(made.status).toBe(201);
  expect(await pushTo(app, `owner/${name}`, sent, refs)).toMatch(/^....unpack ok/m);
  return `/projects/${made.json.id}`;
}

const hex = (oid: Buffer) => oid.toString("hex");

/** Reads a streamed answer until the client leaves. */
async function readUntilLeft(request: Request, signal: AbortSignal): Promise<void> {
  const { body } = await app.fetch(request);
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  signal.addEventListener("abort", () => void reader.cancel());
  while (!(await reader.read()).done);
}

async function requireQuick(work: () => Promise<unknown>): Promise<void> {
  expect(await longestTurn(work)).toBeLessThan(MOST);
}

async function requireEnd(start: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const { before, after } = await pausesAfterLeaving(start);
  expect(before).toBeGreaterThan(0);
  expect(after).toBe(0);
}

const lineOf = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;

describe("references", () => {
  const REFS = 2000;
  let tip: Buffer;
  beforeAll(async () => {
    const objects = new Objects();
    tip = objects.commit(objects.add("tree", ""), []);
    await project("tagged", objects.pack, { "refs/heads/main": tip });
    const [row] = await app.store.rows("select max(id) from git_repositories");
    await app.store.transaction(async (db) => {
      for (let at = 0; at < REFS; at += 1) {
        const name = `refs/tags/${"t".repeat(100)}${at}`;
        const values = [row?.[0] as number, name, hex(tip)];
        await db.run("insert into git_refs (repository_id, name, oid) values (?, ?, ?)", values);
      }
    });
  });

  const asking = (prefixes: readonly string[], signal: AbortSignal | null = null) =>
    new Request("http://pm.test/owner/tagged.git/git-upload-pack", {
      method: "POST",
      signal,
      headers: {
        "content-type": "application/x-git-upload-pack-request",
        "git-protocol": "version=2",
      },
      body: `${lineOf("command=ls-refs\n")}0001${prefixes.map((one) => lineOf(`ref-prefix ${one}\n`)).join("")}0000`,
    });
  const list = async (...prefixes: string[]) => (await app.fetch(asking(prefixes))).text();
  /** None of them is the beginning of a reference, but all begin like those. */
  const many = Array.from({ length: 5000 }, (_, at) => `refs/tags/${"t".repeat(90)}x${at}`);

  it("are told by prefixes, whatever their order and repetitions", async () => {
    const first = `refs/tags/${"t".repeat(100)}1`;
    const told = await list(
      "refs/x",
      `${first}23`,
      "refs/heads/",
      `${first}23`,
      "refs/heads/m",
      "refs/z",
    );
    const names = told.match(/refs\/\S+/g) ?? [];
    const wanted = ["123", ...Array.from({ length: 10 }, (_, at) => `123${at}`)];
    expect(names.filter((name) => name.startsWith("refs/tags/t")).toSorted()).toEqual(
      wanted.map((end) => `refs/tags/${"t".repeat(100)}${end}`).toSorted(),
    );
    expect(names).toContain("refs/heads/main");
    expect(told).not.toContain(" HEAD");
    expect(await list("HE")).toMatch(/^....[0-9a-f]{40} HEAD\n0000$/);
  });

  it("are all told to clients that send too many prefixes, as by Git", async () => {
    const told = await list(...many.slice(0, 1001));
    expect(told.match(/refs\/\S+/g)).toHaveLength(REFS + 1);
  });

  it("are told in slices", async () => {
    await requireQuick(() => list(...many.slice(0, 1000)));
    await requireQuick(() => list(...many));
    const info = "http://pm.test/owner/tagged.git/info/refs?service=git-upload-pack";
    await requireQuick(() => app.fetch(new Request(info)));
  });

  it("are told to nobody who has left", () =>
    requireEnd((signal) => readUntilLeft(asking(many, signal), signal)));

  const changes = (count: number, nameOf: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => ({ name: nameOf(at), to: hex(tip) }));
  const pushing = (body: Buffer) => send(app, "owner/tagged", body, pushHeaders(tokenOf("owner")));

  it("are created in slices", async () => {
    // On PostgreSQL, each statement waits for its answer: then nothing else waits.
    const count = engine === "sqlite" ? 2000 : 200;
    let pushes = 0;
    await requireQuick(async () => {
      pushes += 1;
      const { text } = await pushing(pushOf(changes(count, (at) => `refs/tags/p${pushes}/${at}`)));
      expect(text).toContain("unpack ok");
      expect(text).not.toContain("ng refs");
    });
  });

  it("have names of few parts", async () => {
    const deep = (at: number) => `refs/tags/${at}${"/a".repeat(400)}`;
    await requireQuick(async () => {
      const { text } = await pushing(pushOf(changes(500, deep)));
      expect(text.match(/^....ng .* funny refname$/gm)).toHaveLength(500);
    });
    const { text } = await pushing(pushOf(changes(1, () => `refs/tags/d${"/a".repeat(61)}`)));
    expect(text).toContain("ok refs/tags/d/a");
  });

  it("are refused early if they are too many", async () => {
    await requireQuick(async () => {
      const { status, text } = await pushing(pushOf(changes(20_000, (at) => `refs/tags/q${at}`)));
      expect([status, text]).toEqual([400, "more than 10000 references\n"]);
    });
  });
});

describe("differences", () => {
  const FILES = 3;
  let path: string;
  let commit: string;
  beforeAll(async () => {
    const objects = new Objects();
    const lines = Array.from({ length: 40_000 }, (_, at) => `${(at * 7919) % 40_000} a line\n`);
    const tree = (isLater: boolean) =>
      objects.add(
        "tree",
        Buffer.concat(
          Array.from({ length: FILES }, (_, file) => {
            const step = [7, 11, 13, 17, 19, 23, 29][file + (isLater ? 1 : 0)] as number;
            const text = lines.map((_, at) => lines[(at * step) % lines.length]).join("");
            return entry("100644", `f${file}`, objects.add("blob", `${file}\n${text}`));
          }),
        ),
      );
    const first = objects.commit(tree(false), []);
    const next = objects.commit(tree(true), [first]);
    commit = hex(next);
    path = await project("diffs", objects.pack, {
      "refs/heads/main": next,
      "refs/heads/old": first,
    });
    const { status } = await app.call(`POST ${path}/merge_requests`, {
      as: "owner",
      json: { source_branch: "main", target_branch: "old", title: "All" },
    });
    expect(status).toBe(201);
  });

  const query = () => ({
    json: {
      query: `{ project(fullPath: "owner/diffs") { mergeRequest(iid: "1") { diffStatsSummary { additions } } } }`,
    },
  });
  const requests: [string, () => [string, CallOptions?]][] = [
    ["a commit's files", () => [`GET ${path}/repository/commits/${commit}/diff?per_page=100`]],
    ["a commit's lines", () => [`GET ${path}/repository/commits/${commit}`]],
    ["two commits", () => [`GET ${path}/repository/compare?from=old&to=main`]],
    ["a merge request's files", () => [`GET ${path}/merge_requests/1/diffs`]],
    ["a merge request with its files", () => [`GET ${path}/merge_requests/1/changes`]],
    ["a merge request's text", () => [`GET ${path}/merge_requests/1/raw_diffs`]],
    ["a merge request's lines", () => ["POST http://pm.test/api/graphql", query()]],
  ];

  it.each(requests)("of %s are found in slices", async (_, request) => {
    const [line, options] = request();
    await requireQuick(async () => expect((await app.call(line, options)).status).toBe(200));
  });

  it("are not looked for once the budget of an answer is used up", async () => {
    const repository = new Repository(Packs.of(app.store), []);
    const patchWith = (spend: (budget: Budget) => void) => {
      const budget = new Budget();
      spend(budget);
      const draft = new Draft(repository, budget);
      const [from, to] = ["a\nb\n", "a\nc\n"].map((text) => ({
        path: "a",
        mode: 0o100644,
        oid: draft.add(BLOB, Buffer.from(text)),
      }));
      return patchOf(draft, { from, to });
    };
    expect(await patchWith(() => undefined)).toEqual({
      text: "@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
      isTooLarge: false,
    });
    for (const [what, most] of [
      ["compared", 64 * 1024 * 1024],
      ["steps", 50_000_000],
    ] as const) {
      const spend = (budget: Budget) => expect(budget.spend(what, most)).toBe(true);
      expect(await patchWith(spend)).toEqual({ text: "", isTooLarge: true });
    }
  });

  it("are shown as too large if they are", async () => {
    const { json } = await app.call(`GET ${path}/repository/commits/${commit}/diff?per_page=100`);
    expect(json).toHaveLength(FILES);
    for (const { diff, too_large } of json) expect([diff, too_large]).toEqual(["", true]);
  });

  it("are found for nobody who has left", () =>
    requireEnd((signal) =>
      app.call(`GET ${path}/repository/compare?from=main&to=old&straight=true`, { signal }),
    ));
});

describe("a client that leaves a server", () => {
  let server: Server;
  beforeAll(async () => {
    server = await serve(app, { port: 0, grace: 100 });
  });
  afterAll(() => server.close());

  it("lets it do nothing more", () =>
    requireEnd((signal) =>
      fetch(
        `${server.url}/api/v4/projects/owner%2Fdiffs/repository/compare?from=main&to=old&straight=true`,
        { signal },
      ),
    ));
});

describe("Markdown", () => {
  const table = `${"|a".repeat(2000)}|\n${"|-".repeat(2000)}|\n${"|\n".repeat(10_000)}`;
  const tables = `${`${"|a".repeat(2000)}|\n${"|-".repeat(2000)}|\n${"|\n".repeat(32)}\n`.repeat(7)}`;

  it("of releases takes little memory, and is rendered in slices", async () => {
    const objects = new Objects();
    const tip = objects.commit(objects.add("tree", ""), []);
    const tags = Array.from({ length: 12 }, (_, at) => `v${at}`);
    const path = await project("notes", objects.pack, {
      "refs/heads/main": tip,
      ...Object.fromEntries(tags.map((tag) => [`refs/tags/${tag}`, tip])),
    });
    for (const [at, tag_name] of tags.entries()) {
      const json = { tag_name, description: at % 2 === 0 ? table : tables };
      const { status } = await app.call(`POST ${path}/releases`, { as: "owner", json });
      expect(status).toBe(201);
    }
    const read = async () => {
      const { json } = await app.call(`GET ${path}/releases?include_html_description=true`);
      expect(json).toHaveLength(12);
    };
    expect(await memoryOf(read)).toBeLessThan(MEMORY);
    await requireQuick(read);
  });

  it.each([
    ["one table", table],
    ["tables", tables],
  ])("of %s with too many cells is shown as it is", async (_, text) => {
    await requireQuick(async () => {
      const { json } = await app.call("POST /markdown", { as: "guest", json: { text } });
      expect(json.html).not.toContain("<table");
      expect(json.html).toContain("|a|a|a");
      expect(json.html.length).toBeLessThan(3 * text.length);
    });
  });
});

describe("configurations", () => {
  const job = (name: string, rules: readonly string[]) =>
    `${name}:\n  script: [make]\n  rules:\n${rules.map((rule) => `    - if: ${rule}\n`).join("")}`;
  const expressionOf = (at: number) => `'$CI_COMMIT_REF_NAME =~ /^(a${at}|b.*c)+x{2,9}$/'`;
  const many = (count: number) => Array.from({ length: count }, (_, at) => expressionOf(at));
  beforeAll(async () => {
    const json = { name: "checked", initialize_with_readme: true };
    expect((await app.call("POST /projects", { as: "owner", json })).status).toBe(201);
  });
  const lint = (content: string, signal?: AbortSignal) =>
    app.call("POST /projects/owner%2Fchecked/ci/lint", {
      as: "owner",
      json: { content, dry_run: true },
      ...(signal && { signal }),
    });

  it("have a limited number of rules in a list", async () => {
    const { json } = await lint(job("a", many(501)));
    expect(json.errors).toEqual(["jobs:a rules are too many (maximum is 500)"]);
    expect((await lint(job("a", many(500)))).json.errors).toEqual([
      expect.stringContaining("Pipeline"),
    ]);
  });

  it.each([
    [
      "different expressions",
      Array.from({ length: 3 }, (_, at) => job(`j${at}`, many(300))).join(""),
    ],
    [
      "long variables",
      `variables:\n  LONG: ${"a".repeat(9900)}\n${Array.from({ length: 10 }, (_, at) =>
        job(`j${at}`, Array(300).fill("'$LONG =~ /^(a|b)*c$/'")),
      ).join("")}`,
    ],
    [
      "policies",
      Array.from(
        { length: 600 },
        (_, at) => `j${at}:\n  script: [make]\n  only:\n    variables: [${expressionOf(at)}]\n`,
      ).join(""),
    ],
  ])("with many %s are checked in slices", async (_, content) => {
    await requireQuick(async () => expect((await lint(content)).status).toBe(200));
  });

  it("are checked for nobody who has left", () =>
    requireEnd((signal) =>
      lint(Array.from({ length: 3 }, (_, at) => job(`j${at}`, many(300))).join(""), signal),
    ));
});

describe("archives", () => {
  const FOLDERS = 40_000;
  let archive: string;
  beforeAll(async () => {
    const objects = new Objects();
    const empty = objects.add("tree", "");
    const part = (length: number, of: Buffer) =>
      objects.add(
        "tree",
        Buffer.concat(
          Array.from({ length }, (_, at) =>
            entry("40000", `folder-${String(at).padStart(6, "0")}`, of),
          ),
        ),
      );
    const tip = objects.commit(part(FOLDERS / 100, part(100, empty)), []);
    await project("folders", objects.pack, { "refs/heads/main": tip });
    archive = "http://pm.test/api/v4/projects/owner%2Ffolders/repository/archive.zip";
  });

  it("of many folders are made in slices, with little memory", async () => {
    const read = async () => {
      let bytes = 0;
      const { body } = await app.fetch(archive);
      for await (const part of body as ReadableStream<Uint8Array>) bytes += part.length;
      expect(bytes).toBeGreaterThan(FOLDERS * 100);
    };
    expect(await memoryOf(read)).toBeLessThan(MEMORY);
    await requireQuick(read);
  });

  it("are made for nobody who has left", () =>
    requireEnd((signal) => readUntilLeft(new Request(archive, { signal }), signal)));
});
