import { RawReply, type RequestInfo } from "../../core/resource.ts";
import type { StoredFile } from "../../files/write.ts";
import type { Awaitable, Reader } from "../../store/port.ts";

/** Charts that are read at a time. */
const BATCH = 50;

/** The newest file of each version in a channel. */
const CHARTS = `packages pk join package_files pf on pf.package_id = pk.id
  where pk.project_id = ? and pk.package_type = 'helm' and pf.channel = ?
    and not exists (select 1 from package_files newer where newer.package_id = pk.id
      and newer.channel = pf.channel and newer.id > pf.id)`;

interface ChartRow {
  readonly id: number;
  readonly name: string;
  readonly manifest: string;
  readonly file_name: string;
  readonly sha256: string;
  readonly created_at: number;
}

/** Some charts of a channel by name, the newest first. @param after the last one that was read */
function chartsOf(
  db: Reader,
  projectId: number,
  channel: string,
  after: Pick<ChartRow, "id" | "name"> | undefined,
): Awaitable<ChartRow[]> {
  const follows = after ? "and (pk.name > ? or (pk.name = ? and pk.id < ?))" : "";
  return db.all<ChartRow>(
    `select pk.id, pk.name, pf.manifest, pf.file_name, pf.sha256, pf.created_at from ${CHARTS} ${follows}
     order by pk.name, pk.id desc limit ${BATCH}`,
    [projectId, channel, ...(after ? [after.name, after.name, after.id] : [])],
  );
}

/** The newest chart of a channel with a name of a file, or `undefined`. */
export function findChart(
  db: Reader,
  projectId: number,
  channel: string,
  fileName: string,
): Awaitable<StoredFile | undefined> {
  return db.one<StoredFile>(
    `select pf.file_id as id, pf.size, pf.sha256 from ${CHARTS} and pf.file_name = ?
     order by pf.id desc limit 1`,
    [projectId, channel, fileName],
  );
}

/**
 * The index of a channel, as Helm reads it: YAML, of which each chart is a line of JSON. It is written a few charts at a time,
 * and the same while there is no newer chart.
 */
export function indexOf(
  db: Reader,
  request: RequestInfo,
  projectId: number,
  channel: string,
): RawReply {
  const place = request.path.slice(0, -`/${channel}/index.yaml`.length);
  const headers = {
    "content-type": "text/yaml; charset=utf-8",
    "cache-control": "private, no-cache",
  };
  return new RawReply(200, headers, {
    chunks: async function* () {
      yield Buffer.from("apiVersion: v1\n");
      let last: ChartRow | undefined;
      let newest = 0;
      for (let rows = await chartsOf(db, projectId, channel, last); rows.length > 0; ) {
        let text = last ? "" : "entries:\n";
        for (const row of rows) {
          if (row.name !== last?.name) text += `  ${JSON.stringify(row.name)}:\n`;
          text += `  - ${chartOf(row)}\n`;
          last = row;
          newest = Math.max(newest, row.created_at);
        }
        yield Buffer.from(text);
        rows = rows.length < BATCH ? [] : await chartsOf(db, projectId, channel, last);
      }
      if (!last) yield Buffer.from("entries: {}\n");
      const generated = JSON.stringify(new Date(newest).toISOString());
      const info = JSON.stringify({ contextPath: place });
      yield Buffer.from(`generated: ${generated}\nserverInfo: ${info}\n`);
    },
  });
}

function chartOf({ manifest, created_at: created, sha256, file_name: file }: ChartRow): string {
  const told = {
    ...JSON.parse(manifest),
    created: new Date(created).toISOString(),
    digest: sha256,
    urls: [`charts/${encodeURIComponent(file)}`],
  };
  // YAML has no such characters in texts.
  return JSON.stringify(told).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
