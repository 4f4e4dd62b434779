import { escaped } from "../core/markup.ts";

/** Markup that needs no escaping. */
export class Html {
  constructor(readonly text: string) {}
}

/** A template's values: text is escaped, markup and lists of markup are not, `undefined`, `null` and `false` are omitted. */
export type Part = Html | string | number | undefined | null | false | readonly Html[];

/** A template that escapes its values. Attributes must be quoted. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: strings }, ...parts.map(markup)));
}

function markup(part: Part): string {
  if (part === undefined || part === null || part === false) return "";
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map((one: Html) => one.text).join("");
  return escaped(String(part));
}
