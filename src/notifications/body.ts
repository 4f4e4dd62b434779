import { findVisible } from "../core/access/source.ts";
import { viewOf } from "../core/http/request.ts";
import { Html } from "../pages/html.ts";
import { renderAll } from "../resources/markdown/render.ts";
import { viewerOf } from "../resources/pipelines/rules.ts";
import type { Store } from "../store/port.ts";
import { Budget } from "../turns/budget.ts";
import type { Sender } from "./message.ts";
import type { Notification } from "./recipients.ts";

/** The maximum length of the quoted description or comment, in characters. */
const MAX_QUOTED_CHARACTERS = 10_000;

/**
 * The description or comment that a mail quotes, shortened, and as HTML as its recipient sees it: what they may not see is
 * no link.
 *
 * @param now epoch milliseconds
 * @returns `undefined` if there is none, or the recipient is gone
 */
export async function bodyOf(
  store: Store,
  { body, user_id, project_id, note_id }: Notification,
  { url, secrets }: Pick<Sender, "url" | "secrets">,
  now: number,
): Promise<{ markdown: string; html: Html } | undefined> {
  const viewer = body ? await viewerOf(store, user_id, now) : undefined;
  if (!body || !viewer) return undefined;
  const markdown =
    body.length > MAX_QUOTED_CHARACTERS ? `${body.slice(0, MAX_QUOTED_CHARACTERS)}…` : body;
  const project = await findVisible(store, "project", String(project_id), viewer);
  const [rendered = ""] = await renderAll(
    {
      ...{ db: store, store, viewer, project, budget: new Budget() },
      view: viewOf(url, now, secrets, {}),
      ...{ isComment: note_id !== null, isPage: true, hasStates: true },
    },
    [markdown],
  );
  return { markdown, html: new Html(rendered) };
}
