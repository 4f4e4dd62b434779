/** Markup that is safe to send. */
export class Html {
  constructor(readonly text: string) {}
}

/** What a template takes: text is escaped, markup and lists of it are not, `undefined` and `false` are nothing. */
export type Part = Html | string | number | undefined | false | readonly Html[];

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A template whose values are escaped: attributes have to be in quotes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: strings }, ...parts.map(markup)));
}

function markup(part: Part): string {
  if (part === undefined || part === false) return "";
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map((one: Html) => one.text).join("");
  return String(part).replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}
