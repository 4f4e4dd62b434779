// The bare server's answer to what services report of commits: the status is written, and read.
import { userJson } from "./bare-planning.mjs";

const instant = (at) => (at === null ? null : new Date(at).toISOString());

const statusJson = (row) => ({
  id: row.id,
  sha: row.sha,
  ref: row.ref,
  status: row.status,
  name: row.name,
  target_url: row.target_url,
  description: row.description,
  created_at: instant(row.created_at),
  started_at: instant(row.started_at),
  finished_at: instant(row.finished_at),
  allow_failure: row.allow_failure === 1,
  coverage: row.coverage === null ? null : Number(row.coverage),
  pipeline_id: row.pipeline_id,
  author: userJson(row.user_id, row.author_name, row.username, row.state, row.avatar_url),
});

/** @param {import("better-sqlite3").Database} db */
export function reporting(db) {
  const find = db.prepare(`select pl.id, pl.project_id,
      (select cj.id from ci_jobs cj where cj.pipeline_id = pl.id and cj.name = ? and cj.status in ('pending', 'running')) as open
    from pipelines pl join projects p on p.id = pl.project_id where p.full_path = ? and pl.sha = ? order by pl.id desc limit 1`);
  const insertPipeline =
    db.prepare(`insert into pipelines (project_id, iid, user_id, ref, sha, before_sha, source, status,
      created_at, updated_at) select p.id, (select coalesce(max(iid), 0) + 1 from pipelines where project_id = p.id), ?, ?, ?, ?,
      'external', ?, ?, ? from projects p where p.full_path = ? returning id, project_id`);
  const insert =
    db.prepare(`insert into ci_jobs (project_id, pipeline_id, user_id, kind, name, stage, stage_index, ref,
      status, target_url, description, created_at, updated_at, queued_at) values (?, ?, ?, 'external', ?, 'external', 1000000, ?, ?, ?,
      ?, ?, ?, ?) returning id`);
  const change =
    db.prepare(`update ci_jobs set status = ?, target_url = ?, description = ?, updated_at = ?,
      started_at = case when ? = 'running' then ? else started_at end,
      finished_at = case when ? = 'success' then ? else finished_at end where id = ?`);
  const read =
    db.prepare(`select cj.*, pl.sha, u.name as author_name, u.username, u.state, u.avatar_url
    from ci_jobs cj join pipelines pl on pl.id = cj.pipeline_id join users u on u.id = cj.user_id where cj.id = ?`);
  const write = db.transaction((path, sha, sent, callerId) => {
    const { state, ref, name, target_url: url, description } = sent;
    const now = Date.now();
    let pipeline = find.get(name, path, sha);
    if (pipeline?.open) {
      change.run(state, url, description, now, state, now, state, now, pipeline.open);
      return pipeline.open;
    }
    pipeline ??= insertPipeline.get(callerId, ref, sha, sha, state, now, now, path);
    const of = [pipeline.project_id, pipeline.id, callerId];
    return insert.get(...of, name, ref, state, url, description, now, now, now).id;
  });
  return (path, sha, sent, callerId) => statusJson(read.get(write(path, sha, sent, callerId)));
}
