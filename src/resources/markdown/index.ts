import { findSource } from "../../core/access/source.ts";
import * as param from "../../core/input.ts";
import { MAX_MARKDOWN, parseMarkdown } from "../../core/markdown.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import { renderAll } from "./render.ts";

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
        project: param.unlessBlank(param.text()),
      },
      examples: [{ html: "<p><strong>Done</strong></p>\n" }],
      prepare: (_, { store }) => store,
      handle: async ({ db, viewer, view, budget, input, prepared: store }) => {
        const { text, gfm = false } = input;
        const project = input.project
          ? await findSource(db, "project", input.project, viewer)
          : undefined;
        const [html] = gfm
          ? await renderAll({ db, store, viewer, view, budget, project }, [text])
          : [(await parseMarkdown(text)).html()];
        return new Json({ html });
      },
    }),
  ],
};
