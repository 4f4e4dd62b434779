import { type Kind, kindOf, testFiles } from "./kinds.ts";
import type { Reach } from "./reach.ts";
import { SHARES } from "./share.ts";
import weights from "./weights.json" with { type: "json" };

/**
 * What a run consists of:
 *
 * - `share`: every kind of proof, and of what repeats it on another engine or runtime a share that changes with the
 *   commit; whatever a change reaches is always in
 * - `all`: everything, in its long form
 * - `changed`: what a change reaches, on SQLite and PostgreSQL
 * - `fast`: what takes least, on SQLite
 */
export type Mode = "share" | "all" | "changed" | "fast";

/**
 * Runtimes by their names in `test/runtimes.mjs`, in the order in which they take turns, and what all tests use there and
 * nowhere else: their adapters have tests of their own.
 */
const RUNTIMES = [
  ["Bun", /^src\/store\/drivers\/bun/],
  ["Deno", /^src\/store\/drivers\/node/],
  ["Node with node:sqlite", /^src\/store\/drivers\/node/],
] as const;

/** Test files that run in one process. */
export interface Pass {
  readonly name: string;
  /** The project of vitest.config.ts. */
  readonly project: string;
  readonly files: readonly string[];
  /** A runtime other than this one. */
  readonly runtime?: (typeof RUNTIMES)[number][0];
  /** Whether `pm-cli` is the one file. */
  readonly isBinary?: true;
  /** Expected CPU seconds. */
  readonly seconds: number;
}

/** Which tests are run, and where. */
export interface Plan {
  readonly mode: Mode;
  /** See {@link shareOf}. */
  readonly share: number;
  readonly reach: Reach;
  /** Only files whose path contains one of these; if there are none, all. */
  readonly filters?: readonly string[];
}

/** CPU seconds that a file takes, by project, as `npm test -- --record` measured them. */
const measured: Readonly<Record<string, Readonly<Record<string, number>>>> = weights.files;
/** What a file takes that was not there when they were measured. */
const UNKNOWN_SECONDS = 1.5;
/** `npm test` may take this many CPU seconds; a test adds up what its files and steps took. */
export const BUDGET_SECONDS = 22 * 60;
/** `npm run test:fast` has the files that take less than this. */
const FAST_SECONDS = 1.5;
/** Files that take longer on PostgreSQL are run there once in {@link SHARES} commits; of those for each commit, once in 8. */
const HEAVY_SECONDS = 8;

/** What differs most between engines: the store, search, counts, concurrency, and each route's SQL once. */
const ALWAYS_ON_POSTGRES =
  /^test\/(store\/|api\/(search|code-search|label-counts|labelled-totals|common-labels|concurrency|ci-counts|scim-search|variables|access-matrix))/;

/** What differs most between runtimes: their SQLite, zlib, streams, HTTP, cryptography, expressions, dates, Unicode. */
const ALWAYS_ON_RUNTIMES =
  /^test\/(store\/|api\/(git|git-hostile|bodies|uploads|stored-files|wikis-attachments|avatars|exports|hooks|hook-deliveries|mail|metrics|search-index|code-search|lengths|protocol)\.test)/;
/** What differs between SQLites, where all else is the same. */
const ALWAYS_ON_SQLITES =
  /^test\/(store\/|api\/(stored-files|exports|search-index|code-search|lengths)\.test)/;
/** Of these, what repeats itself at length: kills, copies of databases, documents of old versions, and indexes of many. */
const SELDOM_ON_RUNTIMES =
  /^test\/(store\/(database|git-crash|merge-race|migrate|outbox-crash|postgres)|api\/search-index)/;

/** Starting, and one server. */
const ALWAYS_ON_BINARY = /^test\/cli\/(binary|start|serve)\.test/;

/** The passes of a run; those without files are left out. */
export function passesOf({ mode, share, reach, filters = [] }: Plan): Pass[] {
  const files = testFiles().filter(
    (file) => filters.length === 0 || filters.some((filter) => file.includes(filter)),
  );
  const of = (...kinds: Kind[]) => files.filter((file) => kinds.includes(kindOf(file)));
  const isWhole = mode === "all" || filters.length > 0;
  /** Files of a share, and those that a change reaches. */
  const some = (kinds: Kind[], shared: (own: readonly string[]) => readonly string[]) => {
    const own = of(...kinds);
    const chosen = new Set(mode === "share" ? shared(own) : []);
    return own.filter((file) => isWhole || reach.tests.has(file) || chosen.has(file));
  };

  if (mode === "fast") {
    const isFast = (project: string) => (file: string) =>
      filters.length > 0 || secondsOf(project, file) < FAST_SECONDS;
    return [
      pass("tests on SQLite", "sqlite", of("app").filter(isFast("sqlite"))),
      pass("other tests", "rest", of("rest").filter(isFast("rest"))),
    ].filter(hasFiles);
  }

  // The longest files of the passes must not meet in one share: that is why each begins at another one.
  const onPostgres = (own: readonly string[]) => {
    const isHeavy = (file: string) => secondsOf("postgres", file) > HEAVY_SECONDS;
    const isAlways = (file: string) => ALWAYS_ON_POSTGRES.test(file);
    const [always, others] = [own.filter(isAlways), own.filter((file) => !isAlways(file))];
    const light = others.filter((file) => !isHeavy(file));
    return [
      ...always.filter((file) => !isHeavy(file)),
      ...part(always.filter(isHeavy), "postgres", 8, share + 8),
      ...part(light, "postgres", SHARES, share + 8),
      ...part(others.filter(isHeavy), "postgres", SHARES, share + 19),
    ];
  };
  const ofRest = (own: readonly string[]) => [
    ...own.filter((file) => !isInTurn(file)),
    ...part(own.filter(isInTurn), "rest", 8, share + 6),
  ];
  const inParts = (project: string, parts: number, from: number) => (own: readonly string[]) =>
    part(own, project, parts, share + from);
  const passes = [
    pass(
      "tests on SQLite",
      "sqlite",
      some(["app"], (own) => own),
    ),
    pass("tests on PostgreSQL", "postgres", some(["app"], onPostgres)),
    pass("other tests", "rest", some(["rest"], ofRest)),
    pass("tests of the build", "built", some(["built"], inParts("built", 16, 10))),
    pass("tests in a browser", "built", some(["browser"], inParts("built", 4, 7))),
    pass("tests that run alone", "timed", some(["timed"], inParts("timed", 4, 5))),
  ];
  if (mode === "changed") return passes.filter(hasFiles);

  for (const [index, [runtime, own]] of RUNTIMES.entries()) {
    const turn = Math.floor(share / RUNTIMES.length) + 1;
    const turns = SHARES / RUNTIMES.length;
    const always = runtime.startsWith("Node") ? ALWAYS_ON_SQLITES : ALWAYS_ON_RUNTIMES;
    const isAlways = (file: string) => always.test(file) && !SELDOM_ON_RUNTIMES.test(file);
    const others = of("app").filter((file) => !isAlways(file));
    const inTurn = share % RUNTIMES.length === index ? part(others, "sqlite", turns, turn) : [];
    const chosen = of("app").filter(
      (file) => isWhole || reach.touches(own) || isAlways(file) || inTurn.includes(file),
    );
    passes.push({ ...pass(`tests on ${runtime}`, "sqlite", chosen), runtime });
  }
  const ofBinary = of("built", "timed").filter(
    (file) => file.startsWith("test/cli/") && (isWhole || ALWAYS_ON_BINARY.test(file)),
  );
  for (const project of ["built", "timed"]) {
    const fitting = ofBinary.filter((file) => (kindOf(file) === "timed") === (project === "timed"));
    passes.push({ ...pass(nameOfBinary(project), project, fitting), isBinary: true });
  }
  return passes.filter(hasFiles);
}

/** One of as many parts of files, which take about as long each: dealt like cards, the longest first, there and back. */
function part(files: readonly string[], project: string, parts: number, share: number): string[] {
  const seconds = (file: string) => secondsOf(project, file);
  const sorted = [...files].sort((a, b) => seconds(b) - seconds(a) || (a < b ? -1 : 1));
  return sorted.filter((_, at) => {
    const place = at % parts;
    const isBack = Math.floor(at / parts) % 2 === 1;
    return (isBack ? parts - 1 - place : place) === share % parts;
  });
}

const nameOfBinary = (project: string) =>
  project === "timed" ? "tests of the binary that run alone" : "tests of the binary";

/** Programs of others, the code in documents, and the adapters on other runtimes. */
const isInTurn = (file: string) => /^test\/(clients\/|docs\/code\.|toy\/runtimes\.)/.test(file);
const hasFiles = ({ files }: Pass) => files.length > 0;

function pass(name: string, project: string, files: readonly string[]): Pass {
  const seconds = files.reduce((sum, file) => sum + secondsOf(project, file), 0);
  return { name, project, files, seconds };
}

function secondsOf(project: string, file: string): number {
  return measured[project]?.[file] ?? UNKNOWN_SECONDS;
}

/** Something else that is run, with its name in `weights.json`. */
export interface Check {
  readonly name: string;
  readonly command: readonly string[];
  /** Expected CPU seconds. */
  readonly seconds: number;
}

/** What is built for the tests of a run. */
export function buildsOf(passes: readonly Pass[]): Check[] {
  const builds: Check[] = [];
  if (passes.some(({ project }) => project === "built" || project === "timed")) {
    builds.push(check("build", "npx", "--no-install", "tsup", "--silent"));
  }
  if (passes.some(({ isBinary }) => isBinary)) {
    builds.push(check("one binary", "npm", "run", "--silent", "build:binary"));
  }
  return builds;
}

/** Checks beside the tests; those of the package only now and then, unless a change reaches it. */
export function checksOf({ mode, share, reach }: Plan): Check[] {
  if (mode === "changed" || mode === "fast") return [];
  const touchesPackage = reach.touches(/^(package\.json|tsup\.config\.ts|src\/[^/]+\.ts)$/);
  const checks = [
    // The program is another one than that which writes the types of the build.
    check("types", process.execPath, "node_modules/typescript-7/bin/tsc"),
    tool("lint and format", "biome", "check", "--error-on-warnings", "."),
    tool("unused code", "knip"),
  ];
  if (mode === "all" || touchesPackage || share % 3 === 0) {
    checks.push(
      tool("package types", "attw", "--pack", ".", "--profile", "node16"),
      tool("package", "publint", "--strict"),
    );
  }
  return checks;
}

const tool = (name: string, ...command: string[]) => check(name, "npx", "--no-install", ...command);

function check(name: string, ...command: string[]): Check {
  const seconds = (weights.checks as Record<string, number>)[name] ?? UNKNOWN_SECONDS;
  return { name, command, seconds };
}
