import { type Places, pathOf } from "../fixtures.ts";
import { engine, type Person, type TestApp } from "../helpers.ts";
import { routes } from "./routes.ts";

/** Whoever asks has been active: that is noted after the answer. */
const reading = routes.filter(
  ({ method, path }) => method === "GET" && path !== "/user/activities",
);
/** Of lists that show only the caller's own by default, all. */
const ALL = "?scope=all&all_available=true";
/** Each has statements of its own: for administrators, for members, and for visitors. */
const CALLERS: readonly Person[] =
  engine === "postgres" ? ["admin", "guest"] : ["admin", "guest", "anonymous"];

/** An answer, without when tokens were last used, and users active. */
export interface Seen {
  status: number;
  text: string;
  total: string | null;
}

/** What everybody, or some, see at some places, by request and caller: every GET route of the API. */
export async function everythingSeen(
  app: Pick<TestApp, "call">,
  places: readonly Places[],
  callers = CALLERS,
): Promise<Map<string, Seen>> {
  const seen = new Map<string, Seen>();
  const paths = new Set(reading.flatMap((route) => places.map((one) => pathOf(route, one))));
  for (const path of paths) {
    for (const as of callers) {
      const { status, text, headers } = await app.call(`GET ${path}${ALL}`, { as });
      seen.set(`${path}${ALL} ${as}`, {
        status,
        text: text.replaceAll(/"(last_(used_at|activity_on)|generated_at|timestamp)":[^,}]*/g, ""),
        // Totals of a user's events include those that nobody sees any more.
        total: /^(\/users\/\d+)?\/events$/.test(path) ? null : headers.get("x-total"),
      });
    }
  }
  return seen;
}
