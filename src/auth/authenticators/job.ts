import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import { unauthorized } from "../../core/errors.ts";
import type { Authenticator } from "../../core/http/authenticator.ts";
import { bearerOf, textOf } from "../request-tokens.ts";
import { digestOf } from "../token-secrets.ts";
import { callerOf, SESSION_SCOPES, USER_COLUMNS, type UserRow } from "./user-row.ts";

interface JobTokenRow extends UserRow {
  token_id: number;
  expires_at: number;
  project_id: number;
  project_path: string;
}

const BY_DIGEST = `select ${USER_COLUMNS}, j.id as token_id, j.expires_at, j.project_id, p.full_path as project_path
  from job_tokens j join users u on u.id = j.user_id and ${NOT_DELETED_USER} join projects p on p.id = j.project_id
  where j.digest = ?`;

/** Tokens of CI jobs: `job_token`, then `JOB-TOKEN`, then `Authorization: Bearer`, on routes that accept them. */
export const jobToken: Authenticator = {
  refusesUnknown: true,
  credential: ({ route, parameters, incoming }) =>
    route.jobTokens
      ? (textOf(parameters["job_token"]) ??
        textOf(incoming.header("job-token")) ??
        bearerOf(incoming.header("authorization")))
      : undefined,
  callerOf: async (token, db, { ip }, now, { tokenUsage }) => {
    const row = await db.one<JobTokenRow>(BY_DIGEST, [digestOf(token)]);
    if (!row) return undefined;
    if (row.expires_at <= now) throw unauthorized({ tokenGiven: true });
    const { token_id: id, project_id: projectId, project_path: projectPath } = row;
    tokenUsage.tokenUsed({ kind: "job", id }, ip, now);
    return callerOf(row, SESSION_SCOPES, { kind: "job", id, projectId, projectPath });
  },
};
