import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { form, formText } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { emojiOfNotes } from "../resources/award-emoji/actions.ts";
import { mayCreateNote } from "../resources/issuables/abilities.ts";
import { mayAdminNote, mayResolveNote } from "../resources/notes/abilities.ts";
import { projectAction, type Showing, type Shown, type Visit } from "./declare.ts";
import { deleteButton, formPage } from "./forms.ts";
import { at, listed, placeOf, refused, tag, who } from "./parts.ts";
import { ticking, toggled, withTasks } from "./tasks.ts";

/** What is discussed: an issue or a merge request, with its page below the address of the project. */
export interface Discussed {
  readonly name: "issues" | "merge_requests" | "epics";
  readonly path: string;
  readonly found: Shown;
  readonly place: Shown;
}

/** What rights of those who discuss depend on. */
const noteableOf = (found: Shown) => ({
  author_id: found.author?.id ?? null,
  discussion_locked: Number(found.discussion_locked === true),
});

/** Whether the visitor may write, and give emoji. */
export const mayWrite = ({ name, found }: Pick<Discussed, "name" | "found">, visit: Visit) =>
  name !== "epics" && visit.may(mayCreateNote, noteableOf(found));

const mayEdit = (found: Shown, note: Shown, visit: Visit): boolean =>
  visit.may(mayAdminNote, {
    noteable: noteableOf(found),
    note: { author_id: note.author?.id ?? null, system: Number(note.system) },
  });

/** What was typed into a form for a text, if it was this one. @param id of its discussion; none for a comment */
export const typedIn = ({ parameters }: Visit, id: string | undefined): string =>
  parameters["discussion_id"] === id ? String(parameters["body"] ?? "") : "";

/** What those who may can do with a thread: answer in it, and settle it. */
function threadForms(discussion: Shown, { found, name, path }: Discussed, visit: Visit): Html {
  const { id, notes } = discussion;
  const own = `${path}/discussions/${id}`;
  const [first] = notes as readonly Shown[];
  if (first.system || !mayWrite({ name, found }, visit)) return html``;
  const isRefused = visit.refusal !== undefined && visit.parameters["discussion_id"] === id;
  const resolvable = (notes as readonly Shown[]).filter((note) => note.resolvable);
  const isResolved = resolvable.length > 0 && resolvable.every((note) => note.resolved);
  const maySettle =
    resolvable.length > 0 &&
    visit.may(mayResolveNote, { noteable: noteableOf(found), resolved: undefined });
  const begun = first.author?.name ?? "somebody";
  const toWhom = html`<span class="unseen"> to ${begun}</span>`;
  const ofWhom = html`<span class="unseen"> the thread of ${begun}</span>`;
  const reply = html`<label class="field">Your reply
<textarea name="body" rows="3" required>
${typedIn(visit, id)}</textarea></label>`;
  return html`<div class="actions"><details${isRefused && html` open`}><summary class="button quiet">Reply${toWhom}</summary>${isRefused && refused(visit)}${form(visit, `${own}/notes`, html`${reply}<button>Send reply</button>`)}</details>
${maySettle && form(visit, `${own}/resolve`, html`<input type="hidden" name="resolved" value="${String(!isResolved)}"><button class="quiet">${isResolved ? "Unresolve" : "Resolve"}${ofWhom}</button>`)}</div>`;
}

/** Shows discussions, with what the visitor can do about each. Their texts are rendered together. */
export async function threadsOf(
  discussions: readonly Shown[],
  visit: Visit,
  of: Discussed,
): Promise<(discussion: Shown) => Html> {
  const notes = discussions.flatMap(({ notes: own }) => own as Shown[]);
  const texts = await visit.texts(notes.map(({ body }) => body));
  const rendered = new Map(notes.map(({ id }, index) => [id, texts[index]]));
  const path = placeOf(of.place).address + of.path;
  const emoji = await emojiOf(
    notes.filter(({ system }) => !system).map(({ id }) => id),
    visit,
    of,
  );
  const mayChange = (note: Shown) => of.name !== "epics" && mayEdit(of.found, note, visit);
  const textOf = (note: Shown) => {
    const text = rendered.get(note.id) as Html;
    return mayChange(note)
      ? withTasks(text, note.body, visit, `${path}/notes/${note.id}/tasks`)
      : text;
  };
  const shown = (
    note: Shown,
  ) => html`<article id="note_${note.id}" class="${note.system ? "done" : "said"}">
<header>${who(note.author, visit)} <a href="#note_${note.id}">${at(note.created_at)}</a>${tag(note.internal, "Internal")}${tag(note.resolved, "Resolved")}</header>
<div class="text">${textOf(note)}</div>
<div class="actions">${emoji(note)}${mayChange(note) && html`<a class="button quiet" href="${mountOf(visit.view)}${path}/notes/${note.id}/edit">Edit<span class="unseen"> the comment of ${note.author?.name}</span></a>`}</div>
</article>`;
  return (discussion) =>
    html`${(discussion.notes as Shown[]).map(shown)}${threadForms(discussion, { ...of, path }, visit)}`;
}

/** The emoji of comments, all of which are asked for at once: whoever may gives one, and takes theirs back. */
async function emojiOf(
  note_ids: readonly number[],
  visit: Visit,
  of: Discussed,
): Promise<(note: Shown) => Html> {
  const routes = emojiOfNotes(of.name);
  const asked =
    routes &&
    note_ids.length > 0 &&
    (await visit.ask(routes.list, { noteable_id: of.found.iid, note_ids }));
  if (!asked) return () => html``;
  const given = new Map<number, Shown[]>();
  for (const one of asked.value as readonly Shown[]) {
    given.set(one.note_id, [...(given.get(one.note_id) ?? []), one]);
  }
  const mayGive = mayWrite(of, visit);
  const path = placeOf(of.place).address + of.path;
  return (note) => {
    const all = given.get(note.id) ?? [];
    if (note.system || (all.length === 0 && !mayGive)) return html``;
    const said = (name: string, count = 0) =>
      `${name.replaceAll("_", " ")}${count > 0 ? `, ${count}` : ""}`;
    if (!mayGive) {
      return html`<div class="actions" role="group" aria-label="Emoji">${all.map(
        ({ name, count }) =>
          html`<span class="tag" role="img" aria-label="${said(name, count)}">${EMOJI[name] ?? `:${name}:`} ${count}</span>`,
      )}</div>`;
    }
    const isAsked = Number(visit.parameters["react"]) === note.id;
    const give = (name: string, count?: number, isMine?: boolean) =>
      html`<button class="quiet" name="name" value="${name}" aria-label="${said(name, count)}"${count !== undefined && html` aria-pressed="${String(isMine)}"`}>${EMOJI[name] ?? `:${name}:`}${count !== undefined && ` ${count}`}</button>`;
    const others = isAsked
      ? Object.keys(EMOJI).filter((name) => !all.some((one) => one.name === name))
      : [];
    const buttons =
      (all.length > 0 || isAsked) &&
      form(
        visit,
        `${path}/notes/${note.id}/award_emoji`,
        html`<div class="actions">${all.map(({ name, count, mine }) => give(name, count, mine))}${others.map((name) => give(name))}</div>`,
      );
    // Whoever wants to give another one is shown them all: there are too many to have them beside each comment.
    const query = new URLSearchParams(visit.request.query);
    query.set("react", String(note.id));
    const more =
      !isAsked &&
      html`<a class="button quiet" href="?${query.toString()}#note_${note.id}" aria-label="React to the comment of ${note.author?.name ?? "somebody"}">☺</a>`;
    return html`${buttons}${more}`;
  };
}

/** The comment to which somebody wants to give an emoji. */
export const reacting = { react: param.optional(param.recordId()) };

/** Discussions, the oldest first: what was written, and what was done, with what the visitor can do about it. */
export async function discussed(
  discussions: readonly Shown[],
  visit: Visit,
  of: Discussed,
): Promise<Html> {
  const thread = await threadsOf(discussions, visit, of);
  return html`<section class="discussions" aria-label="Discussions">
${listed("discussions", discussions, visit, {
  path: placeOf(of.place).address + of.path,
  none: "Nobody has said anything yet.",
  row: (discussion) => html`<li class="thread">${thread(discussion)}</li>`,
})}
</section>`;
}

/** Emoji that can be given at once. */
const EMOJI: Readonly<Record<string, string>> = {
  thumbsup: "👍",
  thumbsdown: "👎",
  tada: "🎉",
  smile: "😄",
  heart: "❤️",
  rocket: "🚀",
  eyes: "👀",
  confused: "😕",
};

/** The emoji that something got: whoever may gives more, and takes their own back. */
export async function reactions(of: Discussed, visit: Visit): Promise<Html | undefined> {
  const { name, found, place, path } = of;
  const asked = await visit.ask(`GET /projects/:id/${name}/:noteable_id/award_emoji`, {
    ...{ noteable_id: found.iid, per_page: 100 },
  });
  const given = (asked?.value ?? []) as readonly Shown[];
  const mayGive = mayWrite(of, visit);
  if (!asked || (given.length === 0 && !mayGive)) return undefined;
  const own = `${placeOf(place).address}${path}/award_emoji`;
  const kinds = new Set([...(mayGive ? Object.keys(EMOJI) : []), ...given.map((one) => one.name)]);
  const shown = [...kinds].map((kind) => {
    const all = given.filter((one) => one.name === kind);
    const mine = all.find(({ user }) => user?.id === visit.caller?.id);
    const text = html`${EMOJI[kind] ?? `:${kind}:`}${all.length > 0 && ` ${all.length}`}`;
    const said = `${kind.replaceAll("_", " ")}${all.length > 0 ? `, ${all.length}` : ""}`;
    if (!mayGive) return html`<span class="tag" role="img" aria-label="${said}">${text}</span>`;
    const action = mine ? `${own}/${mine.id}/delete` : own;
    return form(
      visit,
      action,
      html`<input type="hidden" name="name" value="${kind}"><button class="quiet" aria-label="${said}" aria-pressed="${String(mine !== undefined)}">${text}</button>`,
    );
  });
  return html`<div class="actions" role="group" aria-label="Emoji">${shown}</div>`;
}

/** A button that puts something on the visitor's to-do list, or takes it off. */
export async function todoButton(of: Discussed, visit: Visit): Promise<Html | undefined> {
  const { name, found, place, path } = of;
  if (!visit.caller || name === "epics") return undefined;
  const type = name === "issues" ? "Issue" : "MergeRequest";
  const sent = { project_id: found.project_id, type, per_page: 100 };
  const asked = await visit.ask("GET /todos", sent);
  const todos = (asked?.value ?? []) as readonly Shown[];
  const todo = todos.find(({ target }) => target?.iid === found.iid);
  const own = `${placeOf(place).address}${path}/todo`;
  return todo
    ? form(visit, `${own}/${todo.id}/done`, html`<button class="quiet">Mark as done</button>`)
    : form(visit, own, html`<button class="quiet">Add a to-do item</button>`);
}

/** What forms about what is discussed do. @param again the page of it */
export function discussionActions(
  name: "issues" | "merge_requests",
  iid: "issue_iid" | "merge_request_iid",
  again: Showing<string>,
): readonly Route[] {
  const one = name === "issues" ? "an issue" : "a merge request";
  const of = `/projects/:id/${name}/:noteable_id`;
  const single = `GET /projects/:id/${name}/:${iid}`;
  const own = { [iid]: param.recordId() };
  const names = { noteable_id: iid };
  const page = (parameters: Readonly<Record<string, unknown>>) => `/-/${name}/${parameters[iid]}`;
  const toNote = ({ id }: Shown, parameters: Readonly<Record<string, unknown>>) =>
    page(parameters) + (id === undefined ? "" : `#note_${id}`);
  const note = { ...own, note_id: param.recordId() };
  const action = (
    path: string,
    summary: string,
    performs: Parameters<typeof projectAction>[0]["performs"],
    fields: param.Attributes = {},
    to: typeof toNote = (_, parameters) => page(parameters),
    hasPreview = false,
  ) =>
    projectAction({
      ...{ path: `/-/${name}/:${iid}${path}`, summary, performs, again, to, hasPreview },
      ...{ input: own, fields },
    });
  const thread = { discussion_id: param.anyText() };
  const { toggle: toggling } = emojiOfNotes(name) as NonNullable<ReturnType<typeof emojiOfNotes>>;
  return [
    action(
      "/notes",
      `Comment on ${one}`,
      [`POST ${of}/notes`, names],
      { body: formText },
      toNote,
      true,
    ),
    action(
      "/discussions",
      `Begin a thread on ${one}`,
      [`POST ${of}/discussions`, names],
      { body: formText },
      ({ notes: begun }, parameters) => toNote(begun?.[0] ?? {}, parameters),
    ),
    action(
      "/discussions/:discussion_id/notes",
      `Reply in a thread of ${one}`,
      [`POST ${of}/discussions/:discussion_id/notes`, names],
      { ...thread, body: formText },
      toNote,
    ),
    action(
      "/discussions/:discussion_id/resolve",
      `Resolve a thread of ${one}, or take that back`,
      [`PUT ${of}/discussions/:discussion_id`, names],
      { ...thread, resolved: param.boolean() },
      ({ notes }, parameters) => toNote(notes?.[0] ?? {}, parameters),
    ),
    ...formPage({
      ...{ of: "project", path: `/-/${name}/:${iid}/notes/:note_id/edit`, input: note },
      summary: `Change a comment on ${one}`,
      shows: { found: [`GET ${of}/notes/:note_id`, names], noteable: single },
      performs: [`PUT ${of}/notes/:note_id`, names],
      fields: [{ name: "body", label: "Comment", kind: "lines", isMarkdown: true }],
      may: ({ found, noteable }, visit) => mayEdit(noteable, found, visit),
      title: () => "Edit a comment",
      steps: ({ noteable }) => [[noteable.references.short, `/-/${name}/${noteable.iid}`]],
      button: "Save changes",
      to: (done, parameters) => toNote({ id: done.id ?? parameters["note_id"] }, parameters),
      below: ({ place, noteable, found }, visit) =>
        deleteButton(
          visit,
          `${placeOf(place).address}/-/${name}/${noteable.iid}/notes/${found.id}/delete`,
          "Delete this comment? It can't be brought back.",
        ),
    }),
    projectAction({
      ...{ path: `/-/${name}/:${iid}/notes/:note_id/tasks`, again, input: note },
      summary: `Tick a task of a comment on ${one}, or take that back`,
      fields: ticking,
      performs: [`PUT ${of}/notes/:note_id`, names],
      sends: async (typed, { perform }, source) => {
        const { note_id } = typed;
        const asked = { id: source?.id, noteable_id: typed[iid], note_id };
        const { value } = await perform(`GET ${of}/notes/:note_id`, asked);
        return { note_id, body: toggled((value as Shown).body, typed) };
      },
      to: (_, parameters) => toNote({ id: parameters["note_id"] }, parameters),
    }),
    action(
      "/notes/:note_id/delete",
      `Delete a comment on ${one}`,
      [`DELETE ${of}/notes/:note_id`, names],
      note,
    ),
    projectAction({
      ...{ path: `/-/${name}/:${iid}/notes/:note_id/award_emoji`, again, input: note },
      summary: `Give a comment on ${one} an emoji, or take it back`,
      fields: { name: param.anyText() },
      performs: toggling,
      sends: (typed, _, source) => ({
        ...{ id: source?.id, noteable_id: typed[iid], note_id: typed["note_id"] },
        ...{ name: typed["name"], change: "toggle" },
      }),
      to: (_, parameters) => toNote({ id: parameters["note_id"] }, parameters),
    }),
    action("/award_emoji", `Give ${one} an emoji`, [`POST ${of}/award_emoji`, names], {
      name: param.anyText(),
    }),
    action(
      "/award_emoji/:award_id/delete",
      `Take an emoji of ${one} back`,
      [`DELETE ${of}/award_emoji/:award_id`, names],
      { award_id: param.recordId() },
    ),
    action("/todo", `Put ${one} on one's to-do list`, [
      `POST /projects/:id/${name}/:target_iid/todo`,
      { target_iid: iid },
    ]),
    action(
      "/todo/:todo_id/done",
      `Take ${one} off one's to-do list`,
      "POST /todos/:todo_id/mark_as_done",
      { todo_id: param.recordId() },
    ),
  ];
}
