import type { Context } from "../../core/resource.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database } from "../../store/port.ts";

/** Characters of what a program says it is. */
const MOST = 1000;

/** Notes with which program something was created, and from where, if the request tells both. */
export async function noteUserAgent(
  { db, request }: Pick<Context, "request"> & { readonly db: Database },
  of: { readonly issue_id: number } | { readonly snippet_id: number },
): Promise<void> {
  const agent = request.header("user-agent");
  if (!agent || !request.ip) return;
  await insertRow(db, "user_agents", {
    ...of,
    user_agent: agent.slice(0, MOST),
    ip_address: request.ip,
  });
}
