import { type Html, html } from "../pages/html.ts";

/** A paragraph of a mail. */
export type Paragraph =
  /** As it is. */
  | string
  /** The address of a page: what stands before it in plain text, and what HTML calls it. */
  | { readonly link: string; readonly before?: string; readonly name: string }
  /** Markdown, and the same as HTML. */
  | { readonly markdown: string; readonly html: Html };

/** What a mail says, and below that why somebody gets it. */
export interface Saying {
  readonly paragraphs: readonly Paragraph[];
  readonly reasons?: readonly Paragraph[];
}

/** What a mail says as plain text, with reasons as a signature (RFC 3676 §4.3). */
export function textOf({ paragraphs, reasons = [] }: Saying): string {
  const said = paragraphs.map(plain).join("\n\n");
  return reasons.length > 0 ? `${said}\n\n-- \n${reasons.map(plain).join("\n")}` : said;
}

function plain(paragraph: Paragraph): string {
  if (typeof paragraph === "string") return paragraph;
  return "link" in paragraph ? (paragraph.before ?? "") + paragraph.link : paragraph.markdown;
}

/** What a mail says as an HTML document, with the messages of the installation around it. */
export function documentOf(
  { paragraphs, reasons = [] }: Saying,
  { header, footer }: { readonly header: string; readonly footer: string },
): string {
  const { text } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"></head>
<body style="font-family: sans-serif; line-height: 1.5">
${[...(header ? [header] : []), ...paragraphs].map(marked)}
${reasons.length > 0 && html`<hr><div style="font-size: 0.85em">${reasons.map(marked)}</div>`}
${footer && marked(footer)}
</body></html>
`;
  return text;
}

function marked(paragraph: Paragraph): Html {
  if (typeof paragraph === "string") {
    const lines = paragraph.split("\n").map((line, at) => html`${at > 0 && html`<br>`}${line}`);
    return html`<p>${lines}</p>
`;
  }
  return "link" in paragraph
    ? html`<p><a href="${paragraph.link}">${paragraph.name}</a></p>
`
    : html`<div>${paragraph.html}</div>
`;
}
