import type { Seed } from "../../src/index.ts";
import type { Calendar } from "./calendar.ts";
import type { Random } from "./random.ts";
import { fill, THINGS } from "./stories.ts";

type Project = NonNullable<Seed["projects"]>[number];
type Page = NonNullable<Project["wiki"]>[number];
type Attachment = NonNullable<Project["wiki_attachments"]>[number];

const PICTURE = "overview.svg";

/** Wiki pages, with later additions. */
const PAGES: readonly { title: string; content: string; additions: readonly string[] }[] = [
  {
    title: "home",
    content: `# {product}

{product} looks after our {thing}. It is run by the people listed under members; ask them in an issue.

- [Getting started](Guides/Getting-started)
- [Releasing](Guides/Releasing)
- [Runbook](Operations/Runbook)
`,
    additions: ["\n![How it fits together](uploads/{folder}/overview.svg)\n"],
  },
  {
    title: "Guides/Getting started",
    content: `# Getting started

1. Clone the repository and copy \`.env.example\` to \`.env\`.
2. \`make setup\` installs what is needed and makes a database with a few {thing} in it.
3. \`make test\` has to pass before you change anything.
`,
    additions: [
      "\nOn a Mac, install the database's client first.\n",
      "\nIf `make setup` stops at the {thing}, your database is from before the last upgrade: remove it and try again.\n",
    ],
  },
  {
    title: "Guides/Releasing",
    content: `# Releasing

Releases of {product} are made on Tuesdays, never before a holiday.

1. Close the milestone.
2. Tag \`main\`, the pipeline does the rest.
3. Look at the dashboard for a quarter of an hour.
`,
    additions: ["\nTo go back, deploy the tag before. Changes of the database go back too.\n"],
  },
  {
    title: "Operations/Runbook",
    content: `# Runbook

## {product} answers 503

Look at the number of connections first. If it is at its limit, stop the job that sends {thing}; it goes on where it was.

## {Thing} are missing

They are made by the nightly job. Its log says which it left out, and why.
`,
    additions: [
      "\n## Retention\n\nWe keep {thing} for two years, unless a contract says otherwise.\n",
    ],
  },
  {
    title: "Decisions/0001 Queue for {thing}",
    content: `# 1. A queue for {thing}

**Decided.** {Thing} go through a queue instead of being sent at once.

They come in bursts at the end of the month, and whoever waits for them does not mind a minute. What is lost is told
twice rather than never, so each has a number.
`,
    additions: [],
  },
];

/**
 * A project's wiki, and the picture on its first page.
 *
 * @param began the working minute in which the wiki begins
 */
export function wikiOf(
  product: string,
  authors: readonly string[],
  began: number,
  { calendar, random }: { calendar: Calendar; random: Random },
): { wiki: Page[]; wiki_attachments: Attachment[] } {
  const folder = random.hex(32);
  const values = { product, folder, thing: random.pick(THINGS) };
  const later = (after: number) => after + random.next() * (calendar.total - after);
  const wiki = PAGES.slice(0, random.integer(2, PAGES.length)).map(
    ({ title, content, additions }): Page => {
      let text = fill(content, values);
      let at = began + random.next() * (calendar.total - began) * 0.3;
      return {
        title: fill(title, values),
        content: text,
        author: random.pick(authors),
        created_at: calendar.at(at),
        edits: additions.map((addition) => {
          text += fill(addition, values);
          at = later(at);
          return { content: text, author: random.pick(authors), created_at: calendar.at(at) };
        }),
      };
    },
  );
  const picture: Attachment = {
    folder,
    file_name: PICTURE,
    content: drawing(product),
    author: random.pick(authors),
    created_at: calendar.at(began),
  };
  return { wiki, wiki_attachments: [picture] };
}

/** An SVG with a box for the customers and one for the project. */
function drawing(product: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="420" height="80" font-family="sans-serif">
  <rect x="10" y="20" width="140" height="40" fill="#d4c5f9"/><text x="30" y="45">Customers</text>
  <path d="M150 40h100" stroke="#333"/>
  <rect x="250" y="20" width="160" height="40" fill="#fbca04"/><text x="270" y="45">${product}</text>
</svg>
`;
}
