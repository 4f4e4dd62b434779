import { BLOB, oidOf } from "../../git/objects.ts";
import { PackReader } from "../../git/packs.ts";
import { BRANCHES, findRef } from "../../git/refs.ts";
import { load } from "../../git/repository.ts";
import type { Reader } from "../../store/port.ts";
import { tipOf } from "./open.ts";
import { type PageFile, PageTree, textOfPage } from "./pages.ts";
import { MASTER } from "./record.ts";
import type { Format } from "./rules.ts";

/** Texts that memory holds. */
const BATCH = 20;

interface Row {
  readonly id: number;
  readonly slug: string;
  readonly format: Format;
  readonly content: string;
}

/**
 * Checks that the pages of all wikis are those of their default branches.
 *
 * @param most how many problems to report
 * @returns the problems, each a sentence
 */
export async function verifyWikis(db: Reader, most: number): Promise<string[]> {
  const problems: string[] = [];
  const packs = new PackReader(db);
  const wikis = await db.rows(
    "select id, project_id, head from git_repositories where kind = 'wiki' order by id",
  );
  for (const [id, projectId, head] of wikis as [number, number, string | null][]) {
    const where = `the wiki of project ${projectId}`;
    try {
      const repository = await load(db, packs, id);
      const tip = await findRef(db, id, BRANCHES + (head ?? MASTER));
      const tree = new PageTree(repository, tip && tipOf(repository, tip.oid).tree);
      const files = new Map<string, PageFile>();
      for await (const file of tree.all()) files.set(file.slug, file);
      for await (const { slug, format, content } of rowsOf(db, projectId)) {
        const file = files.get(slug);
        files.delete(slug);
        const isSame =
          file?.format === format &&
          (file.oid === oidOf(BLOB, Buffer.from(content)).toString("hex") ||
            content === (await textOfPage(repository, file)));
        if (!isSame) problems.push(`${where}: the page ${slug} is not what its file is`);
        if (problems.length >= most) return problems;
      }
      for (const slug of files.keys()) problems.push(`${where}: the page ${slug} is missing`);
    } catch (error) {
      problems.push(`${where} can't be read: ${error instanceof Error ? error.message : error}`);
    }
    if (problems.length >= most) return problems.slice(0, most);
  }
  return problems;
}

async function* rowsOf(db: Reader, projectId: number): AsyncGenerator<Row> {
  for (let last = 0; ; ) {
    const rows = await db.all<Row>(
      `select id, slug, format, content from wiki_pages where project_id = ? and id > ? order by id limit ${BATCH}`,
      [projectId, last],
    );
    if (rows.length === 0) return;
    yield* rows;
    last = rows.at(-1)?.id as number;
  }
}
