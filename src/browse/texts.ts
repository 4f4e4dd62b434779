import { Html } from "../pages/html.ts";
import type { Rendering } from "../resources/markdown/links.ts";
import { renderAll } from "../resources/markdown/render.ts";
import type { Visit } from "./declare.ts";

/** What renders the texts of a page. */
export const textsOf =
  (rendering: Omit<Rendering, "hasStates" | "isPage">): Visit["texts"] =>
  async (texts) => {
    const written = texts.map((text) => text ?? "");
    const rendered = await renderAll({ ...rendering, hasStates: true, isPage: true }, written);
    return rendered.map((text) => new Html(text));
  };
