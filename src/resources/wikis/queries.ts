import { pageReader } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import type { Format, PageName } from "./rules.ts";

/** A page as stored. */
export interface WikiPage extends PageName {
  id: number;
  format: Format;
  content: string;
}

/** The pages of a project by title. */
export const list = pageReader({
  from: "wiki_pages w where w.project_id = ?",
  order: "w.title, w.id",
});

/** One page as a row of its presenter, or `undefined`. */
export async function row(
  db: Reader,
  presenter: Presenter,
  projectId: number,
  slug: string,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(
    `select ${presenter.columns} from wiki_pages w where w.project_id = ? and w.slug = ?`,
    [projectId, slug],
  );
  return found;
}

/** A page, or `undefined`. */
export function find(db: Reader, projectId: number, slug: string): Awaitable<WikiPage | undefined> {
  return db.one<WikiPage>(
    `select id, slug, title, format, content from wiki_pages where project_id = ? and slug = ?`,
    [projectId, slug],
  );
}

/** Subscribes a user to a page, or unsubscribes. */
export async function subscribe(
  db: Database,
  pageId: number,
  userId: number,
  subscribed: boolean,
): Promise<void> {
  await db.run(
    subscribed
      ? "insert into wiki_page_subscriptions (page_id, user_id) values (?, ?) on conflict do nothing"
      : "delete from wiki_page_subscriptions where page_id = ? and user_id = ?",
    [pageId, userId],
  );
}
