import type { Html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import type { PageContent } from "../pages/page.ts";
import type { Visit } from "./declare.ts";
import { itemsNav } from "./parts.ts";

const ITEMS = [
  ["/admin", "Overview"],
  ["/admin/users", "Users"],
  ["/admin/groups", "Groups"],
  ["/admin/projects", "Projects"],
  ["/admin/runners", "Runners"],
  ["/admin/broadcast_messages", "Broadcast messages"],
  ["/admin/application_settings/general", "Settings"],
  ["/admin/background_jobs", "Background work"],
  ["/admin/audit_logs", "Audit log"],
] as const;

/** A page of the administration, with what else that has. */
export function adminPage(
  visit: Visit,
  { title, body }: Pick<PageContent, "title" | "body">,
): PageContent {
  const mount = mountOf(visit.view);
  const { path } = visit.request;
  const current = ITEMS.findLast(([one]) => `${path}/`.startsWith(`${one}/`))?.[0] ?? "";
  const items = ITEMS.map(([one, name]) => [mount + one, name] as const);
  const above: Html = itemsNav("Administration", items, mount + current, path === current);
  return { showsTexts: true, title, titles: [title, "Administration"], above, body };
}
