import { findSource } from "../../core/access/source.ts";
import * as param from "../../core/input.ts";
import { MAX_MARKDOWN, parseMarkdown } from "../../core/markdown.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import { openedFor, renderAll } from "./render.ts";

/** Markdown as HTML. */
export const markdownResource: Resource = {
  name: "Markdown",
  migrations: [],
  routes: [
    routes().query("/markdown", {
      summary: "Render a Markdown text, with links to what it refers to if `gfm` is true",
      status: 201,
      input: {
        text: param.anyText({ max: MAX_MARKDOWN }),
        gfm: param.optional(param.boolean()),
        project: param.optional(param.text()),
      },
      examples: [{ html: "<p><strong>Done</strong></p>\n" }],
      prepare: async ({ text, gfm, project: path }, preparing) => {
        const { db, viewer } = preparing;
        const project = path ? await findSource(db, "project", path, viewer) : undefined;
        return { project, opened: gfm ? await openedFor(preparing, project, [text]) : undefined };
      },
      handle: async ({ db, viewer, view, budget, input, prepared }) => {
        const { text, gfm = false } = input;
        const [html] = gfm
          ? await renderAll({ db, viewer, view, budget, ...prepared }, [text])
          : [(await parseMarkdown(text)).html()];
        return new Json({ html });
      },
    }),
  ],
};
