import { join } from "node:path";
import type { App } from "../../src/index.ts";
import type { Where } from "./events.ts";
import { HEADERS } from "./operations.ts";
import { median } from "./report.ts";
import { withHistory } from "./repository.ts";

const FEW_COMMITS = 500;
const MANY_COMMITS = 50_000;
/** Reads of a round. */
const READS = 100;

const REPOSITORY = "/projects/acme%2Fsite/repository";
const READ: readonly [name: string, path: string][] = [
  ["a file and the last commit of its path", `${REPOSITORY}/files/file-000.ts?ref=main`],
  ["20 commits and their total", `${REPOSITORY}/commits`],
  ["20 commits of a path", `${REPOSITORY}/commits?path=file-007.ts`],
  ["a comparison", `${REPOSITORY}/compare?from=main&to=change`],
];

/** What a read costs in a short and in a long history, in milliseconds of CPU after the first. */
export interface HistoryFigures {
  name: string;
  few: number;
  many: number;
  ratio: number;
  /** The first read of the long history. */
  first: number;
}

/** Measures reads of repositories with a short and with a long history, in process and in turns. */
export async function measureHistories(
  where: Where & { rounds: number },
): Promise<HistoryFigures[]> {
  const open = (commits: number) => {
    where.say(`pushing ${commits} commits…`);
    return withHistory(join(where.folder, `history-${commits}.db`), commits);
  };
  const few = await open(FEW_COMMITS);
  const many = await open(MANY_COMMITS);
  const figures: HistoryFigures[] = [];
  for (const [name, path] of READ) {
    where.say(`${name}, of a long history`);
    const first = await cpuOf(many, path, 1);
    const rounds: [number, number][] = [];
    // One extra round, only to warm up.
    for (let round = 0; round <= where.rounds; round += 1) {
      const pair: [number, number] = [await cpuOf(few, path), await cpuOf(many, path)];
      if (round > 0) rounds.push(pair);
    }
    figures.push({
      name,
      few: median(rounds.map(([one]) => one)),
      many: median(rounds.map(([, other]) => other)),
      ratio: median(rounds.map(([one, other]) => other / one)),
      first,
    });
  }
  await few.close();
  await many.close();
  return figures;
}

/** The CPU time of a read, in milliseconds: the mean of some. */
async function cpuOf(app: App, path: string, reads = READS): Promise<number> {
  const before = process.cpuUsage();
  for (let read = 0; read < reads; read += 1) {
    const answer = await app.fetch(
      new Request(`http://pm.test/api/v4${path}`, { headers: HEADERS }),
    );
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / reads;
}
