import { visibleProjects } from "../core/access/visibility.ts";
import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { RawReply, type Route, routes } from "../core/resource.ts";
import { html } from "../pages/html.ts";
import { placeholders } from "../store/placeholders.ts";

/** As many groups may be above each other, and a project below them. */
const MOST_SEGMENTS = 21;

const { get } = routes();

/**
 * What `go get` asks of any address: which repository the package is in. It is the longest beginning of the path that is a
 * project the caller sees, or else, so that nobody is told what there is, the first two segments.
 */
export const goAddresses: readonly Route[] = [
  {
    ...get("/:package_path*", {
      answersWith: "text/html",
      summary: "Say which repository a Go package is in",
      access: "anyone",
      input: { package_path: param.anyText({ max: 4096 }) },
      handle: async ({ db, input, viewer, view }) => {
        const segments = input.package_path.split("/").slice(0, MOST_SEGMENTS);
        if (segments.length < 2) throw notFound();
        const paths = segments.slice(1).map((_, at) => segments.slice(0, at + 2).join("/"));
        const among = placeholders(paths.map((path) => path.toLowerCase()));
        const visible = visibleProjects(viewer);
        const [found] = await db.rows(
          `select p.full_path from projects p where lower(p.full_path) in (${among.sql})
             and ${visible.sql} order by length(p.full_path) desc limit 1`,
          [...among.values, ...visible.values],
        );
        const url = `${view.base}/${found?.[0] ?? segments.slice(0, 2).join("/")}`;
        const name = url.slice(url.indexOf("://") + 3);
        const content = html`<html><head><meta name="go-import" content="${name} git ${url}.git"></head><body>go get ${name}</body></html>`;
        const type = { "content-type": "text/html; charset=utf-8" };
        return new RawReply(200, type, content.text);
      },
    }),
    asked: "go-get=1",
  },
];
