import { type Html, html } from "../pages/html.ts";

/** Whoever has written something. */
export interface Author {
  readonly name: string;
  readonly email?: string | null | undefined;
  /** The address of their page. */
  readonly uri?: string | null | undefined;
  readonly avatar?: string | null | undefined;
}

/** An entry of a feed. */
export interface Entry {
  /** A URI that no other entry has. */
  readonly id: string;
  readonly title: string;
  readonly url: string;
  /** The time of the last change, as RFC 3339 writes it. */
  readonly updated: string;
  /** Default: that of the feed. */
  readonly author?: Author | undefined;
  readonly summary?: string | null | undefined;
  readonly content?: string | null | undefined;
  readonly categories?: readonly string[];
  /** What Atom has no elements for. */
  readonly more?: readonly Html[];
}

/** A feed. */
export interface Feed {
  readonly title: string;
  /** Who is named as the author of what has none. */
  readonly author: string;
  /** The addresses of the feed, of its next page if there is one, and of what it is about. */
  readonly self: string;
  readonly next: string | undefined;
  readonly alternate: string;
  readonly entries: readonly Entry[];
}

/** Characters of a title at most, as in GitLab. */
const TITLE = 80;

/** When a feed without entries was changed last: an answer that stays the same is not sent again. */
const NEVER = "1970-01-01T00:00:00Z";

/** What XML has no characters for, and halves of surrogates (XML 1.0 §2.2). */
const FORBIDDEN = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/** Writes a feed in Atom's format (RFC 4287). */
export function atomOf({ title, author, self, next, alternate, entries }: Feed): string {
  const latest = entries.reduce<string | undefined>(
    (last, { updated }) =>
      last === undefined || Date.parse(updated) > Date.parse(last) ? updated : last,
    undefined,
  );
  const { text } =
    html`<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/">
<title>${title}</title>
<link href="${self}" rel="self" type="application/atom+xml"/>
<link href="${alternate}" rel="alternate" type="text/html"/>
${next !== undefined && html`<link href="${next}" rel="next" type="application/atom+xml"/>`}
<id>${alternate}</id>
<updated>${latest ?? NEVER}</updated>
<author><name>${author}</name></author>
${entries.map(entryOf)}</feed>
`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text.replace(FORBIDDEN, "")}`;
}

function entryOf({ id, title, url, updated, author, ...rest }: Entry): Html {
  const { summary, content, categories = [], more = [] } = rest;
  const characters = [...title.slice(0, 2 * TITLE)];
  const short = characters.length > TITLE ? `${characters.slice(0, TITLE - 3).join("")}...` : title;
  return html`<entry>
<id>${id}</id>
<link href="${url}"/>
<title>${short}</title>
<updated>${updated}</updated>
${author && writtenBy(author)}
${summary ? html`<summary>${summary}</summary>` : undefined}
${content ? html`<content>${content}</content>` : undefined}
${categories.map((term) => html`<category term="${term}"/>`)}${[...more]}
</entry>
`;
}

const writtenBy = ({ name, email, uri, avatar }: Author) =>
  html`${avatar ? html`<media:thumbnail width="40" height="40" url="${avatar}"/>` : undefined}<author><name>${name}</name>${email ? html`<email>${email}</email>` : undefined}${uri ? html`<uri>${uri}</uri>` : undefined}</author>`;
