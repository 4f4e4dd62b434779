import { createHash } from "node:crypto";
import { conflict } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, routes } from "../../core/resource.ts";
import { isoInstant } from "../../core/time.ts";
import { packProject } from "../../git/tidy.ts";
import type { Database } from "../../store/port.ts";

/** How often a repository can be packed again by its maintainers. */
const MINUTES = 60;

const { get, post } = routes({ source: "project" });

/**
 * Notes that a project's repository is packed again.
 *
 * @returns `false` if that was done within the last hour
 */
async function claim(db: Database, projectId: number, now: number): Promise<boolean> {
  const claimed = await db.run(
    `update git_repositories set packed_at = ?
     where project_id = ? and kind = 'code' and (packed_at is null or packed_at <= ?)`,
    [now, projectId, now - 60_000 * MINUTES],
  );
  if (claimed > 0) return true;
  const sql = "select 1 from git_repositories where project_id = ? and kind = 'code'";
  return (await db.rows(sql, [projectId])).length === 0;
}

/** Looking after the repositories of a project. */
export const housekeepingRoutes = [
  post("/housekeeping", {
    summary: "Pack the repositories of a project again, without what no branch or tag reaches",
    role: "maintainer",
    input: { task: param.optional(param.choice(["prune", "eager"])) },
    examples: [null],
    concurrency: "per project",
    prepare: async (_, { store, source, now }) => {
      const isFree = await store.transaction(
        async (db) => {
          db.lock(source.id);
          return claim(db, source.id, now);
        },
        { shared: true },
      );
      if (!isFree) {
        throw conflict(
          `Somebody already triggered housekeeping for this project in the past ${MINUTES} minutes`,
        );
      }
      await packProject(store, source.id, now);
    },
    handle: () => new Json(null),
  }),
  get("/storage", {
    summary:
      "Show where the repository of a project is: the path is only a name, since it is in the database",
    access: "admin",
    examples: [
      {
        project_id: 1,
        disk_path: "@hashed/6b/86/6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",
        created_at: "2026-11-22T12:00:00.000Z",
        repository_storage: "default",
      },
    ],
    handle: async ({ db, source: { id } }) => {
      const [row] = await db.rows("select created_at from projects where id = ?", [id]);
      const hash = createHash("sha256").update(String(id)).digest("hex");
      return new Json({
        project_id: id,
        disk_path: `@hashed/${hash.slice(0, 2)}/${hash.slice(2, 4)}/${hash}`,
        created_at: isoInstant(row?.[0] as number),
        repository_storage: "default",
      });
    },
  }),
];
