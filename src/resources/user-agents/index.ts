import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { migrations } from "./table.ts";

const userAgent = presenter({
  user_agent: field.text("ua.user_agent"),
  ip_address: field.text("ua.ip_address"),
  akismet_submitted: field.constant(false),
});

/** @param which the tables and the condition that find the record @throws ApiError 404 */
async function rowOf(db: Reader, which: string, values: Value[]): Promise<Value[]> {
  const [found] = await db.rows(`select ${userAgent.columns} from user_agents ua ${which}`, values);
  if (!found) throw notFound("UserAgentDetail");
  return found;
}

const shared = { access: "admin", presenter: userAgent } as const;
const snippet = { snippet_id: param.recordId() };

/** With which programs issues and snippets were created. */
export const userAgentResource: Resource = {
  name: "User agents",
  migrations,
  routes: [
    routes({ source: "project", features: ["issues"] }).get(
      "/issues/:issue_iid/user_agent_detail",
      {
        summary: "Get with which program an issue was created over the API, and from where",
        ...shared,
        input: { issue_iid: param.recordId() },
        handle: ({ db, source, input }) =>
          rowOf(db, "join issues i on i.id = ua.issue_id where i.project_id = ? and i.iid = ?", [
            source.id,
            input.issue_iid,
          ]),
      },
    ),
    routes({ source: "project", features: ["snippets"] }).get(
      "/snippets/:snippet_id/user_agent_detail",
      {
        summary: "Get with which program a project's snippet was created over the API",
        ...shared,
        input: snippet,
        handle: ({ db, source, input }) =>
          rowOf(db, "join snippets s on s.id = ua.snippet_id where s.project_id = ? and s.id = ?", [
            source.id,
            input.snippet_id,
          ]),
      },
    ),
    routes().get("/snippets/:snippet_id/user_agent_detail", {
      summary: "Get with which program a personal snippet was created over the API",
      ...shared,
      input: snippet,
      handle: ({ db, input }) =>
        rowOf(
          db,
          "join snippets s on s.id = ua.snippet_id where s.project_id is null and s.id = ?",
          [input.snippet_id],
        ),
    }),
  ],
};
