import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import type { Seed, Seeded } from "../../src/index.ts";
import { type DatabaseOptions, databaseOption, hasKey, nameOf, withAdmin } from "../database.ts";
import { Failure } from "../errors.ts";
import type { Scale } from "../seed/index.ts";
import { JSON_OPTION, type JsonOptions, print, progressBar } from "../ui.ts";

const SCALES: readonly Scale[] = ["small", "medium", "large"];

interface SeedOptions extends DatabaseOptions, JsonOptions {
  scale: Scale;
  file?: string;
}

/** Adds `seed`. */
export function addSeedCommand(program: Command): void {
  program
    .command("seed")
    .description("fill a new database with generated data, or from a file")
    .addOption(databaseOption())
    .addOption(
      new Option("--scale <scale>", "amount of generated data").choices(SCALES).default("small"),
    )
    .addOption(
      new Option("--file <file>", "JSON file with the data, instead of generated data").conflicts(
        "scale",
      ),
    )
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      `
Generated data is the same each time: the administrator root with a token, whose secret is
printed, and groups such as acme with people, projects, labels and boards, wikis, badges and
dependencies, repositories, and two and a half years of issues, merge requests, notes,
pushes and pipelines; on PostgreSQL, CI variables and triggers only with a key of secrets. small is a demo; medium has 60 groups, 500 projects, 800 users, 10,000 labels and some 30,000 events; large
has 200 groups, 2,000 projects, 5,000 users, 100,000 labels and some 300,000 events.

Examples:
  $ pm-cli seed
  $ pm-cli seed --db bench.db --scale medium --json
  $ pm-cli seed --db pm.db --file seed.json`,
    )
    .action(seed);
}

/** Loads the generator only now: it would make every other command start later. */
async function generated(scale: Scale, db: string): Promise<Seed> {
  const { seedData } = await import("../seed/index.ts");
  return seedData(scale, Date.now(), hasKey(db));
}

async function seed(options: SeedOptions): Promise<void> {
  const { db, scale, file } = options;
  const data = file === undefined ? await generated(scale, db) : await readSeed(file);
  const seeded = await withAdmin(
    db,
    async (admin) => {
      if ((await admin.users.list()).length > 0) {
        throw new Failure(
          `${nameOf(db)} already has users, but only new databases can be seeded: name another with --db (or PM_DB)`,
        );
      }
      const bar = await progressBar("Seeding");
      try {
        return await admin.seed(data, bar.update);
      } finally {
        bar.stop();
      }
    },
    { create: true },
  );
  await print(seeded, options, (result) => report(result, nameOf(db)));
}

async function readSeed(file: string): Promise<Seed> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new Failure(`cannot read the seed ${file} (${(error as Error).message}): check --file`);
  }
  try {
    return JSON.parse(text) as Seed;
  } catch (error) {
    throw new Failure(`the seed ${file} is not JSON (${(error as Error).message}): correct it`);
  }
}

function report({ tokens, ...counts }: Seeded, database: string): string {
  const created = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count.toLocaleString("en")} ${kind}`);
  return [
    `Seeded ${database}: ${created.join(", ")}.`,
    ...tokens.map(({ username, token }) => `Token of ${username}, not shown again: ${token}`),
  ].join("\n");
}
