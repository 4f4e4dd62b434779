import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command, type Option } from "commander";
import { buildSchema, parse, validate } from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { createApp } from "../../src/index.ts";
import { allMounts } from "../../src/mounts.ts";
import { orders } from "../../src/testing/orders/index.ts";
import { filesBelow, ROOT } from "../run/kinds.ts";

// Every block of code in the documents is of a known kind, and checked as its kind allows. Those of docs/testing.md and
// docs/tutorial.md are run, too: test/testing/docs.test.ts.

interface Block {
  document: string;
  /** Its first line in the document. */
  line: number;
  kind: string;
  code: string;
}

const documents = [
  ...readdirSync(ROOT),
  ...filesBelow("docs"),
  ...filesBelow("examples").filter((path) => path.endsWith("README.md")),
].filter((path) => path.endsWith(".md") && !path.startsWith("docs/reference/"));
const references = filesBelow("docs/reference");

const blocks = [...documents, ...references].flatMap(blocksOf);
const of = (...kinds: string[]) => blocks.filter(({ kind }) => kinds.includes(kind));
const titleOf = ({ document, line }: Block) => `${document}:${line}`;

function blocksOf(document: string): Block[] {
  const text = readFileSync(join(ROOT, document), "utf8");
  return [...text.matchAll(/^( *)```(.*)\n([\s\S]*?)^\1```$/gm)].map((found) => ({
    document,
    line: text.slice(0, found.index).split("\n").length + 1,
    kind: found[2] as string,
    code: found[3] as string,
  }));
}

/** Blocks that `wrong` says something of, each with what it says. */
function wrongIn(some: readonly Block[], wrong: (block: Block) => string | undefined): string[] {
  return some.flatMap((block) => {
    const said = wrong(block);
    return said === undefined ? [] : [`${titleOf(block)}: ${said}`];
  });
}

/** What an attempt throws. */
function thrown(attempt: () => unknown): string | undefined {
  try {
    attempt();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

it("blocks are of known kinds", () => {
  expect(blocks.length).toBeGreaterThan(800);
  const kinds = [...new Set(blocks.map(({ kind }) => kind))].sort();
  expect(kinds).toEqual(["graphql", "http", "js", "json", "sh", "sql", "text", "ts", "yaml"]);
});

/** What is wrong with YAML, which may have a header. */
const mistakeIn = (code: string) =>
  parseAllDocuments(code).flatMap(({ errors }) => errors.map(({ message }) => message))[0];

it("JSON and YAML can be read", () => {
  expect(wrongIn(of("json"), ({ code }) => thrown(() => JSON.parse(code)))).toEqual([]);
  expect(wrongIn(of("yaml"), ({ code }) => mistakeIn(code))).toEqual([]);
});

it("SQL is about tables that there are", () => {
  const schema = readFileSync(join(ROOT, "src/database/newest-schema.ts"), "utf8");
  const tables = of("sql").flatMap(({ code }) => [...code.matchAll(/\bon (\w+)\n/g)]);
  expect(tables.length).toBeGreaterThan(0);
  const unknown = tables.filter(
    ([, table]) => !new RegExp(`create table ${table}\\b`, "i").test(schema),
  );
  expect(unknown.map(([, table]) => table)).toEqual([]);
});

/** The words of each command of a script: without comments, and without what follows a pipe as arguments. */
function commandsOf(code: string): string[][] {
  const joined = code.replaceAll("\\\n", " ");
  const commands: string[][] = [[]];
  const word = /'[^']*'|"(?:[^"\\]|\\.)*"|[^\s'"|;&()]/.source;
  const tokens = new RegExp(`#.*|\\n|[|;&()]+|(?:${word})+`, "g");
  for (const match of joined.matchAll(tokens)) {
    const [token] = match;
    const isComment = token.startsWith("#") && /^$|\s/.test(joined[match.index - 1] ?? "");
    if (isComment) continue;
    if (/^(\n|[|;&()]+)$/.test(token)) commands.push([]);
    else commands.at(-1)?.push(token.replaceAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"/g, "$1$2"));
  }
  return commands.filter((words) => words.length > 0);
}

describe("shell", () => {
  it("can be read by a shell", () => {
    const script = (some: readonly Block[]) =>
      spawnSync("bash", ["-n"], {
        input: some.map(({ code }) => code).join("\n"),
        encoding: "utf8",
      });
    expect(
      wrongIn(of("sh").filter(isGuide), (block) => script([block]).stderr || undefined),
    ).toEqual([]);
    expect(script(of("sh")).stderr).toBe("");
  });

  it("calls pm-cli with commands and options that it has", async () => {
    const program = new Command("pm-cli");
    for (const file of filesBelow("cli/commands")) {
      for (const [name, add] of Object.entries(await import(/* @vite-ignore */ join(ROOT, file)))) {
        if (/^add\w*Commands?$/.test(name)) (add as (to: Command) => void)(program);
      }
    }
    let calls = 0;
    const unknown = wrongIn(of("sh").filter(isGuide), ({ code }) => {
      const wrong = commandsOf(code).flatMap((words) => {
        const at = words.findIndex((word) => /^(.*\/)?(pm-cli|pm)$/.test(word));
        const start = words.slice(0, Math.max(at, 0)).join(" ");
        if (at < 0 || words.length === at + 1 || !/^$|^npx$|^docker exec pm-api$/.test(start))
          return [];
        calls += 1;
        return unknownIn(program, words.slice(at + 1));
      });
      return wrong.length === 0 ? undefined : wrong.join(", ");
    });
    expect(unknown).toEqual([]);
    expect(calls).toBeGreaterThan(40);
  });

  it("calls npm scripts that there are", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const run = of("sh").flatMap(({ code }) => [...code.matchAll(/\bnpm run ([\w:]+)/g)]);
    expect(run.length).toBeGreaterThan(5);
    expect(run.filter(([, name]) => !((name as string) in scripts))).toEqual([]);
  });

  it("asks for addresses that there are, with their methods", () => {
    let asked = 0;
    const unknown = wrongIn(of("sh", "http"), ({ code, kind }) => {
      const requests =
        kind === "http" ? [code.trim().split(" ")] : commandsOf(code).flatMap(requestOf);
      asked += requests.length;
      const wrong = requests.filter(([method = "", path = ""]) => !isAnswered(method, path));
      return wrong.length === 0 ? undefined : wrong.join(", ");
    });
    expect(unknown).toEqual([]);
    expect(asked).toBeGreaterThan(700);
  });

  it("asks GraphQL for what its schema has", () => {
    const schema = buildSchema(readFileSync(join(ROOT, "docs/schema.graphql"), "utf8"));
    const whole = of("graphql").map((block) => ({ block, query: block.code }));
    const sent = of("sh").flatMap((block) =>
      commandsOf(block.code).flatMap((words) => {
        const body = words.find((word) => /^\s*\{\s*"query"/.test(word));
        return body === undefined ? [] : [{ block, query: JSON.parse(body).query as string }];
      }),
    );
    const queries = [...whole, ...sent];
    expect(queries.length).toBeGreaterThan(0);
    for (const { block, query } of queries) {
      const errors = validate(schema, parse(query)).map(({ message }) => message);
      expect([titleOf(block), errors]).toEqual([titleOf(block), []]);
    }
  });
});

const isGuide = ({ document }: Block) => !document.startsWith("docs/reference/");

/** Words of a command line that a program doesn't know: commands, and options. */
function unknownIn(program: Command, words: readonly string[]): string[] {
  let command = program;
  const given = [...words];
  while (given.length > 0) {
    const next = command.commands.find((one) => one.name() === given[0]);
    if (!next) break;
    command = next;
    given.shift();
  }
  if (command.commands.length > 0 && !given.includes("--help")) {
    return [`${command.name()} has no command ${given[0]}`];
  }
  const optionOf = (word: string) =>
    command.options.find((one: Option) => one.long === word || one.short === word);
  return given
    .map((word) => word.replaceAll(/^\[|\]$/g, "").replace(/=.*/, ""))
    .filter((word) => /^--?[a-z]/.test(word) && word !== "--help" && !optionOf(word))
    .map((word) => `${command.name()} has no option ${word}`);
}

/** What a command with curl, or with the README's \`api\`, asks for: method and path. */
function requestOf(words: readonly string[]): [method: string, path: string][] {
  const [name] = words;
  if (name !== "curl" && name !== "api") return [];
  const after = (...flags: string[]) =>
    words[words.findIndex((word) => flags.includes(word)) + 1] as string;
  const has = (...flags: string[]) => words.some((word) => flags.includes(word));
  const method = has("-X", "--request")
    ? after("-X", "--request")
    : has("-T")
      ? "PUT"
      : has("-d", "-F", "--json", "--form", "--data-binary")
        ? "POST"
        : "GET";
  if (name === "api") {
    const path = words.slice(1).find((word, at) => !word.startsWith("-") && words[at] !== "-X");
    return [[method, `/api/v4/${path}`]];
  }
  const url = words.find((word) => /^(https?:|\$GITLAB|\$URL)/.test(word));
  return [
    [method, url?.replace(/^https?:\/\/[^/]*|^\$\w+/, "") ?? `no address in ${words.join(" ")}`],
  ];
}

const patterns = [
  ...allMounts.flatMap((mount) =>
    mount.resources.flatMap((resource) =>
      resource.routes.map((route) => ({ method: route.method, path: mount.base + route.path })),
    ),
  ),
  ...orders.map(({ method, path }) => ({ method, path: `/-/test/${path}` })),
].map(({ method, path }) => ({
  method,
  pattern: new RegExp(
    `^${path
      .replaceAll(".", "\\.")
      .replace(/:\w+\*/g, ".+")
      .replace(/:\w+/g, "[^/]+")}$`,
  ),
}));

/** Whether a route or an order has this address. */
const isAnswered = (method: string, url: string) =>
  patterns.some((one) => one.method === method && one.pattern.test(url.split("?")[0] as string));

/** What documents have said before a block, as types. */
const KNOWN: Readonly<Record<string, string>> = {
  pm: 'declare const pm: import("pm-api").App;',
  app: 'declare const app: import("pm-api").App;',
  headers: "declare const headers: Record<string, string>;",
  content: "declare const content: string;",
  startTestServer:
    'declare const startTestServer: typeof import("pm-api/testing").startTestServer;',
  createApp: 'declare const createApp: typeof import("pm-api").createApp;',
  createMiddleware:
    'declare const createMiddleware: typeof import("pm-api/node").createMiddleware;',
  routes: 'import { routes } from "../../src/core/resource.ts";',
  Ability: 'import type { Ability } from "../../src/core/access/abilities.ts";',
  Source: 'import type { Source } from "../../src/core/access/source.ts";',
  hasRole: 'import { hasRole } from "../../src/core/access/roles.ts";',
  IssuableAttribute:
    'import type { IssuableAttribute } from "../../src/resources/issuables/attributes.ts";',
  startWorker: 'import { startWorker } from "../../src/jobs/worker.ts";',
  working: 'declare const working: import("../../src/jobs/worker.ts").Working;',
  // What is not ours.
  Bun: "declare const Bun: any;",
  hono: "declare const hono: any;",
  session: "declare const session: any, secret: string;",
  send: "declare const send: (event: unknown, signal: AbortSignal) => Promise<number>;",
  recordDelivery: "declare const recordDelivery: (...values: unknown[]) => Promise<void>;",
};

/** What a document means by a name that others use otherwise. */
const KNOWN_IN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "docs/pages.md": { app: "declare const app: any;" },
};

/** Documents whose JavaScript is run. */
const RUN = ["docs/testing.md", "docs/tutorial.md"];

/** Blocks that show what is refused: with the errors that the compiler finds, too. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  "docs/library.md": ["TS2561"],
  // A session is what the host's own middleware adds.
  "docs/pages.md": ["TS2339"],
};

describe("JavaScript and TypeScript", () => {
  it("names functions of operators that there are, also in sentences", async () => {
    const pm = await createApp();
    const admin = pm.admin as unknown as Record<string, Record<string, unknown>>;
    const unknown = documents
      .filter((document) => document !== "CHANGELOG.md")
      .flatMap((document) => {
        const text = readFileSync(join(ROOT, document), "utf8");
        return [...text.matchAll(/\badmin\.(\w+)\.(\w+)/g)]
          .filter(([, part = "", name = ""]) => admin[part]?.[name] === undefined)
          .map(([name]) => `${document}: ${name}`);
      });
    await pm.close();
    expect(unknown).toEqual([]);
  });

  const folder = join(ROOT, "build/docs-code");
  beforeAll(() => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("has the types of what it uses", () => {
    const programs = of("js", "ts").filter(
      ({ document, kind }) => kind === "ts" || !RUN.includes(document),
    );
    for (const [at, { code, document }] of programs.entries()) {
      const known = Object.entries({ ...KNOWN, ...KNOWN_IN[document] }).filter(
        ([name]) =>
          new RegExp(`\\b${name}\\b`).test(code) &&
          !new RegExp(`\\b(const|let|function) ${name}\\b|import [^;]*\\b${name}\\b`).test(code),
      );
      const before = known.map(([, declaration]) => declaration).join("");
      writeFileSync(join(folder, `${at}.ts`), `${before}export {};${code}`);
    }
    const entries = ["node", "bun", "deno", "testing"].map((name) => [
      `pm-api/${name}`,
      [`../../src/${name}.ts`],
    ]);
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        extends: "../../tsconfig.json",
        compilerOptions: {
          // It is JavaScript, which says no types.
          strict: false,
          noImplicitAny: false,
          noPropertyAccessFromIndexSignature: false,
          noUnusedLocals: false,
          noUnusedParameters: false,
          noUncheckedIndexedAccess: false,
          exactOptionalPropertyTypes: false,
          lib: ["ESNext", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
          target: "ESNext",
          paths: { "pm-api": ["../../src/index.ts"], ...Object.fromEntries(entries) },
        },
        include: ["*.ts"],
      }),
    );
    const { stdout } = spawnSync(
      process.execPath,
      [join(ROOT, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", folder],
      { cwd: folder, encoding: "utf8" },
    );
    const found = new Map<string, string[]>();
    for (const [, at, row, code, message] of stdout.matchAll(
      /^(?:.*\/)?(\d+)\.ts\((\d+),\d+\): error (TS\d+): (.*)$/gm,
    )) {
      const { document, line } = programs[Number(at)] as Block;
      const said = `${code}: line ${line + Number(row) - 1}: ${message}`;
      found.set(document, [...(found.get(document) ?? []), said]);
    }
    for (const [document, codes] of Object.entries(REFUSED)) {
      const said = found.get(document) ?? [];
      expect(said.map((one) => one.split(":")[0])).toEqual(codes);
      found.delete(document);
    }
    expect(Object.fromEntries(found)).toEqual({});
    // What it can't read at all, it says without a file of ours.
    expect(stdout.split("\n").filter((text) => text.startsWith("error"))).toEqual([]);
  });
});
