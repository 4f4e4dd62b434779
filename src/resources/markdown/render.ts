import type { Source } from "../../core/access/source.ts";
import { colorBlocks } from "../../core/code-colors.ts";
import { asText, type ParsedMarkdown, parseMarkdown } from "../../core/markdown.ts";
import { languagesIn } from "../../core/markdown-inline.ts";
import type { TextReference } from "../../core/markdown-references.ts";
import type { Reader } from "../../store/port.ts";
import { keyOf, linksOf, type Rendering } from "./links.ts";

/** How many references of the texts of one answer become links. */
const MAX_REFERENCES = 200;
/** Texts with links that may be relative: only then the default branch is looked up. */
const LINKS = /\]\(|\]:|<(?:a|img)\s/i;

/**
 * Renders Markdown texts of one project as HTML. What they refer to becomes a link if the viewer may see it, with a bounded
 * number of queries for all texts; what they may not see stays text, like what is not there. Texts beyond the request's
 * budget are shown as they are.
 */
export async function renderAll(rendering: Rendering, texts: readonly string[]): Promise<string[]> {
  const { budget, db, project, wikiPage } = rendering;
  const parsed: ParsedMarkdown[] = [];
  const hasLinks = project && !wikiPage && texts.some((text) => LINKS.test(text));
  const branch = hasLinks ? await branchOf(db, project) : undefined;
  const references = new Map<string, TextReference>();
  for (const text of texts) {
    const read = await within(rendering, text, branch);
    parsed.push(read);
    for (const reference of read.references) {
      if (references.size < MAX_REFERENCES) references.set(keyOf(reference), reference);
    }
    if (budget.isDue) await budget.pause();
  }
  const links = await linksOf(rendering, [...references.values()]);
  return parsed.map(({ html }) => html((reference) => links.get(keyOf(reference))));
}

async function branchOf(db: Reader, { id }: Source): Promise<string | undefined> {
  const [row] = await db.rows("select default_branch from projects where id = ?", [id]);
  return (row?.[0] as string | null) ?? undefined;
}

async function within(
  { budget, view, project, wikiPage, isComment, isPage }: Rendering,
  text: string,
  branch: string | undefined,
): Promise<ParsedMarkdown> {
  if (!budget.spend("markdown", text.length)) return asText(text);
  const projectPath = project?.fullPath;
  const wikiPath =
    wikiPage?.wikiPath ??
    (project?.features.includes("wiki") ? `${projectPath}/-/wikis` : undefined);
  const languages = isPage && languagesIn(text);
  const colorBlock = languages && (await colorBlocks(languages, budget));
  const parsed = await parseMarkdown(text, {
    ...{ base: view.base, projectPath, branch, wikiPath, slug: wikiPage?.slug },
    ...{ isComment, isPage, isGitLabs: true, ...(colorBlock && { colorBlock }) },
  });
  return budget.spend("html", parsed.length) ? parsed : asText(text);
}
