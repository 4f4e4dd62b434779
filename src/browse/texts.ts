import type { Source } from "../core/access/source.ts";
import { Html } from "../pages/html.ts";
import type { Rendering } from "../resources/markdown/links.ts";
import { renderAll } from "../resources/markdown/render.ts";

/** What renders the texts of a page. */
export const textsOf =
  (rendering: Omit<Rendering, "hasStates" | "isPage" | "project" | "group">, place?: Source) =>
  async (
    texts: readonly (string | null)[],
    wiki: Pick<Rendering, "wikiPage"> = {},
  ): Promise<Html[]> => {
    const written = texts.map((text) => text ?? "");
    const of = place && { [place.kind]: place };
    const shown = { ...rendering, ...of, ...wiki, hasStates: true, isPage: true };
    const rendered = await renderAll(shown, written);
    return rendered.map((text) => new Html(text));
  };
