import type { Seed } from "../../src/index.ts";

type Project = NonNullable<Seed["projects"]>[number];
type Push = NonNullable<Project["pushes"]>[number];
type Files = NonNullable<NonNullable<Push["commits"]>[number]["files"]>;

/** A language that a project is written in. */
interface Language {
  /** Where code about something is. */
  code(thing: string): string;
  test(thing: string): string;
  /** What such a file begins with. */
  head(thing: string): string;
  testHead(thing: string): string;
  /** A function, and its test. `words` are those of its name. */
  function(words: readonly string[], title: string): string;
  check(words: readonly string[], title: string): string;
  /** Files that every project has. */
  project(name: string): Files;
}

const snake = (words: readonly string[]) => words.join("_");
const camel = (words: readonly string[]) =>
  words.map((word, at) => (at === 0 ? word : capital(word))).join("");
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
const classOf = (thing: string) => thing.split("-").map(capital).join("");

const javascript: Language = {
  code: (thing) => `src/${thing}.js`,
  test: (thing) => `test/${thing}.test.js`,
  head: (thing) => `import { table } from "./store.js";\n\nconst rows = table("${thing}");\n`,
  testHead: (thing) =>
    `import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport * as ${camel(thing.split("-"))} from "../src/${thing}.js";\n`,
  function: (words, title) =>
    `\n/** ${title}. */\nexport async function ${camel(words)}(account, options = {}) {\n  return rows.where({ account, ...options });\n}\n`,
  check: (words, title) =>
    `\ntest("${title}", async () => {\n  assert.ok(await ${camel(words)}("demo"));\n});\n`,
  project: (name) => ({
    "package.json": `${JSON.stringify({ name, private: true, type: "module", scripts: { test: "node --test" } }, null, 2)}\n`,
    "src/store.js":
      'import knex from "knex";\n\nconst db = knex(process.env.DATABASE_URL);\n\nexport const table = (name) => db(name);\n',
    ".gitignore": "node_modules/\ncoverage/\n",
  }),
};

const python: Language = {
  code: (thing) => `app/${thing.replaceAll("-", "_")}.py`,
  test: (thing) => `tests/test_${thing.replaceAll("-", "_")}.py`,
  head: (thing) => `from app.store import table\n\nrows = table("${thing}")\n`,
  testHead: (thing) => `from app import ${thing.replaceAll("-", "_")}\n`,
  function: (words, title) =>
    `\n\ndef ${snake(words)}(account, **options):\n    """${title}."""\n    return rows.where(account=account, **options)\n`,
  check: (words, title) =>
    `\n\ndef test_${snake(words)}():\n    """${title}."""\n    assert ${snake(words)}("demo")\n`,
  project: (name) => ({
    "pyproject.toml": `[project]\nname = "${name}"\nversion = "0.1.0"\nrequires-python = ">=3.11"\n`,
    "app/store.py":
      'import os\n\nfrom app.database import connect\n\ndatabase = connect(os.environ["DATABASE_URL"])\n\n\ndef table(name):\n    return database[name]\n',
    ".gitignore": "__pycache__/\n.venv/\n",
  }),
};

const ruby: Language = {
  code: (thing) => `lib/${thing.replaceAll("-", "_")}.rb`,
  test: (thing) => `spec/${thing.replaceAll("-", "_")}_spec.rb`,
  head: (thing) => `require_relative "store"\n\n${classOf(thing)} = Store.table("${thing}")\n`,
  testHead: (thing) => `require "${thing.replaceAll("-", "_")}"\n`,
  function: (words, title) =>
    `\n# ${title}.\ndef ${snake(words)}(account, **options)\n  Store.where(account: account, **options)\nend\n`,
  check: (words, title) =>
    `\nRSpec.describe "${title}" do\n  it { expect(${snake(words)}("demo")).to be_truthy }\nend\n`,
  project: () => ({
    Gemfile: 'source "https://rubygems.org"\n\ngem "pg"\ngem "rack"\ngem "rspec"\n',
    "lib/store.rb":
      'require "pg"\n\nmodule Store\n  def self.table(name)\n    connection[name]\n  end\nend\n',
    ".gitignore": "coverage/\nvendor/\n",
  }),
};

const LANGUAGES: Readonly<Record<string, Language>> = { python, ruby };

/** Words that say nothing in the name of a function. */
const FILLERS = new Set(["a", "an", "for", "in", "it", "of", "on", "one", "that", "the", "what"]);

/** A change of a file that a commit makes: text after what it has, or nothing in its place. */
interface Change {
  path: string;
  /** What a new file begins with. */
  head: string;
  text: string;
}

/** What a branch has in the files that it has changed, and with which changes. */
interface Open {
  files: Map<string, string>;
  changes: Change[];
}

/** A release: the name of its tag, what is new, and the files of its commit. */
export interface Release {
  name: string;
  news: string;
  files: Files;
}

/** The files of a project while its history is generated: those of the default branch, and what branches change. */
export class Code {
  readonly #language: Language;
  readonly #files = new Map<string, string>();
  readonly #branches = new Map<string, Open>();
  /** What was merged since the last release. */
  #merged: string[] = [];
  #releases = 0;
  /** What CHANGELOG.md says about releases. */
  #news = "";

  /** @param topics those of the project: they say which language it is written in */
  constructor(topics: readonly string[]) {
    const topic = topics.find((name) => LANGUAGES[name]);
    this.#language = (topic !== undefined && LANGUAGES[topic]) || javascript;
  }

  /** The files of the first commit. */
  begin(name: string, description = ""): Files {
    const files = {
      "README.md": `# ${name}\n\n${description === "" ? "" : `${description}\n\n`}See the wiki for how it is run.\n`,
      ...this.#language.project(name.toLowerCase().replaceAll(" ", "-")),
    };
    for (const [path, text] of Object.entries(files)) this.#files.set(path, text as string);
    return files;
  }

  /** The files of a commit on a branch. @param title that of the commit @param thing what it is about */
  change(branch: string, title: string, thing: string): Files {
    const state: Open = this.#branches.get(branch) ?? { files: new Map(), changes: [] };
    this.#branches.set(branch, state);
    const change = this.#changeFor(title, thing.toLowerCase().replaceAll(" ", "-"));
    const before = state.files.get(change.path) ?? this.#files.get(change.path);
    const text = (before ?? change.head) + change.text;
    state.files.set(change.path, text);
    state.changes.push(change);
    return { [change.path]: text };
  }

  /** Merges a branch, and returns the files that the default branch has changed, too, since it began. */
  merge(branch: string, title: string): Files {
    const conflicts: Files = {};
    const state = this.#branches.get(branch);
    for (const { path, head, text } of state?.changes ?? []) {
      this.#files.set(path, (this.#files.get(path) ?? head) + text);
    }
    for (const [path, text] of state?.files ?? []) {
      const merged = this.#files.get(path) as string;
      if (merged !== text) conflicts[path] = merged;
    }
    this.#merged.push(title);
    return conflicts;
  }

  /** Forgets a branch that was removed. */
  remove(branch: string): void {
    this.#branches.delete(branch);
  }

  /** The next release, if enough has been merged since the last one. */
  release(day: string): Release | undefined {
    const enough = this.#releases === 0 ? 2 : 8;
    if (this.#merged.length < enough) return undefined;
    const name = `v1.${this.#releases}.0`;
    const news = this.#merged.map((title) => `- ${title}\n`).join("");
    this.#news = `\n## ${name}, ${day}\n\n${news}${this.#news}`;
    this.#releases += 1;
    this.#merged = [];
    return { name, news, files: { "CHANGELOG.md": `# Changes\n${this.#news}` } };
  }

  #changeFor(title: string, thing: string): Change {
    const language = this.#language;
    if (/^document/i.test(title)) {
      return { path: `docs/${thing}.md`, head: `# ${title}\n`, text: `\n${title}.\n` };
    }
    if (/tables|index/.test(title)) {
      const path = `migrations/${thing}.sql`;
      return {
        path,
        head: `-- ${thing}\n`,
        text: `\n-- ${title}\nanalyze ${thing.replaceAll("-", "_")};\n`,
      };
    }
    const words = title
      .toLowerCase()
      .split(/[^a-z]+/)
      .filter((word) => word.length > 1 && !FILLERS.has(word))
      .slice(0, 5);
    return /\btest\b/i.test(title)
      ? {
          path: language.test(thing),
          head: language.testHead(thing),
          text: language.check(words, title),
        }
      : {
          path: language.code(thing),
          head: language.head(thing),
          text: language.function(words, title),
        };
  }
}
