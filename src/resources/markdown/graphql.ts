import { sourcesById } from "../../core/access/source.ts";
import {
  type GraphContext,
  type GraphqlModule,
  type LoadedField,
  loaded,
} from "../../graphql/declare.ts";
import type { Value } from "../../store/port.ts";
import type { Rendering } from "./links.ts";
import { renderAll } from "./render.ts";

/** The most projects of one list whose texts are looked through for references to what they have themselves. */
const MOST_PROJECTS = 10;

/** A text, and the id of its project, which references without a path mean; 0 for none. */
interface Source {
  readonly key: Value;
  readonly projectId: number;
  readonly text: string;
}

type About = Pick<Rendering, "isComment" | "hasStates">;

/** A column of Markdown of a type's rows `alias` as HTML, as `POST /markdown` renders it. */
const html = (alias: string, column: string, about: About = {}): LoadedField =>
  // The text is part of the key, so that what is read for an answer is counted, and no other statement reads it again.
  loaded("String", (keys, context) => rendered(keys, context, about), {
    key: `coalesce(${alias}.project_id, 0) || ':' || ${alias}.${column}`,
  });

const ofIssue = { descriptionHtml: html("i", "description", { hasStates: true }) };

/** Texts as HTML, beside the texts. */
export const graphqlModule: GraphqlModule = {
  extend: {
    Issue: ofIssue,
    WorkItem: ofIssue,
    WorkItemWidgetDescription: ofIssue,
    Epic: ofIssue,
    MergeRequest: { descriptionHtml: html("mr", "description", { hasStates: true }) },
    Release: { descriptionHtml: html("r", "description") },
    Note: { bodyHtml: html("nt", "body", { isComment: true, hasStates: true }) },
  },
};

async function rendered(
  keys: readonly Value[],
  { db, store, viewer, view, budget }: GraphContext,
  about: About,
): Promise<Map<Value, string>> {
  const sources = keys.filter((key) => key !== null).map(sourceOf);
  const mentioned = [...new Set(sources.map(({ projectId }) => projectId))];
  const ids = mentioned.filter((id) => id !== 0).slice(0, MOST_PROJECTS);
  const projects = await sourcesById(db, "project", ids, viewer);
  const all = new Map<Value, string>();
  const render = async (some: readonly Source[], id?: number) => {
    const project = id === undefined ? undefined : projects.get(id);
    const texts = some.map(({ text }) => text);
    const rendering = { db, store, viewer, view, budget, project, ...about };
    const found = await renderAll(rendering, texts);
    for (const [index, { key }] of some.entries()) all.set(key, found[index] as string);
  };
  for (const id of ids) {
    await render(
      sources.filter(({ projectId }) => projectId === id),
      id,
    );
  }
  await render(sources.filter(({ projectId }) => !ids.includes(projectId)));
  return all;
}

function sourceOf(key: Value): Source {
  const written = String(key);
  const colon = written.indexOf(":");
  return { key, projectId: Number(written.slice(0, colon)), text: written.slice(colon + 1) };
}
