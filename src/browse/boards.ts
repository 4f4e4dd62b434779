import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { form, oneOf } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { scriptOf } from "../pages/script.ts";
import { MOVE_ISSUE } from "../resources/boards/actions.ts";
import { actionIn, type Showing, type Shown, type Visit } from "./declare.ts";
import { listOf, type PlaceKind } from "./lists.ts";
import { about, placeOf, refused, row } from "./parts.ts";
import { baseOf, PLACES } from "./planning.ts";

/** As many columns of a board are shown: each is a list of its own. */
const MOST_COLUMNS = 20;

/** Cards can be dragged as well: that fills in the form that is there for everybody, and sends it. */
export const DRAGGING = scriptOf(`
const form = document.getElementById("dragged");
let card;
document.addEventListener("dragstart", (event) => {
  card = event.target.closest?.("[data-issue]");
  if (card) event.dataTransfer.effectAllowed = "move";
});
document.addEventListener("dragover", (event) => {
  if (card && event.target.closest("[data-list]")) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  const list = event.target.closest("[data-list]");
  if (!card || !list) return;
  event.preventDefault();
  const others = [...list.querySelectorAll("[data-issue]")].filter((one) => one !== card);
  const at = others.indexOf(event.target.closest("[data-issue]"));
  const values = { ...card.dataset, from: card.closest("[data-list]").dataset.list, to: list.dataset.list, position: at };
  for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
  form.requestSubmit();
});
`);

/** What a board's lists take, by the names of the API. */
function scopeOf({ milestone, assignee, labels = [], weight }: Shown): Record<string, unknown> {
  return {
    ...(milestone && { milestone: milestone.title }),
    ...(assignee && { assignee_username: [assignee.username] }),
    ...(weight !== null && weight !== undefined && { weight }),
    labels: labels.map(({ name }: Shown) => name),
  };
}

/** A column of a board. */
interface Column {
  /** What {@link MOVE_ISSUE} knows it by: an id, or the open or closed list. */
  readonly list: string;
  readonly title: string;
  /** What the API is asked for. */
  readonly filter: object;
}

/** What a list is of, as the API's filters take it, with its title. */
function subjectOf({ label, milestone, assignee, iteration }: Shown) {
  if (milestone) return { title: milestone.title, filter: { milestone: [milestone.title] } };
  if (assignee) {
    return { title: `@${assignee.username}`, filter: { assignee_username: [assignee.username] } };
  }
  if (!iteration) return { title: label.name, filter: { labels: [label.name] } };
  const days = `${iteration.start_date} - ${iteration.due_date}`;
  return { title: iteration.title ?? days, filter: { iteration_id: [iteration.id] } };
}

type Filter = Readonly<Record<string, readonly unknown[] | undefined>>;

/** The values of several filters together. */
const together = (filters: readonly Filter[]): Record<string, unknown[]> => {
  const names = new Set(filters.flatMap((filter) => Object.keys(filter)));
  return Object.fromEntries(
    [...names].map((name) => [name, filters.flatMap((filter) => filter[name] ?? [])]),
  );
};

/** The columns of a board: the open list, those of something, and the closed list. */
function columnsOf(board: Shown): readonly Column[] {
  const scope = scopeOf(board);
  const lists = (board.lists as readonly Shown[]).slice(0, MOST_COLUMNS).map((list) => ({
    ...subjectOf(list),
    list: String(list.id),
  }));
  const inOrder = { ...scope, state: "opened", order_by: "relative_position", sort: "asc" };
  const elsewhere = together(lists.map(({ filter }): Filter => filter));
  /** Of a board that shows one milestone only, the list of another one is empty. */
  const within = ({ filter }: (typeof lists)[number]) => {
    const { labels, assignee_username: people, milestone } = filter as Filter;
    const isOther =
      milestone !== undefined &&
      scope["milestone"] !== undefined &&
      milestone[0] !== scope["milestone"];
    return {
      ...{ ...inOrder, ...filter, ...(isOther && { iids: [0] }) },
      ...together([
        { labels: scope["labels"], assignee_username: scope["assignee_username"] } as Filter,
        { labels, assignee_username: people },
      ]),
      ...(milestone && { milestone: milestone[0] }),
    };
  };
  return [
    ...(board.hide_backlog_list
      ? []
      : [
          {
            ...{ list: "backlog", title: "Open" },
            filter: { ...inOrder, ...(lists.length > 0 && { not: elsewhere }) },
          },
        ]),
    ...lists.map((list) => ({ list: list.list, title: list.title, filter: within(list) })),
    ...(board.hide_closed_list
      ? []
      : [{ list: "closed", title: "Closed", filter: { ...scope, state: "closed" } }]),
  ];
}

const hidden = (values: Readonly<Record<string, unknown>>): readonly Html[] =>
  Object.entries(values).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${String(value)}">`,
  );

/** A board with its cards, which those who may can move. */
const boardShown = ({ of, at }: (typeof PLACES)[number]): Showing<"place" | "board"> => ({
  shows: { place: `GET ${at}`, board: `GET ${at}/boards/:board_id` },
  view: async ({ place, board }, visit) => {
    const columns = columnsOf(board);
    const path = `/-/boards/${board.id}`;
    const action = `${placeOf(place).address}${path}/move`;
    // Those who change boards move issues on them: reporters.
    const mayMove = visit.caller !== undefined && visit.offers(`POST /${of}s/:id/boards`);
    const chosen = Number(visit.parameters["move"]);
    const shown: Html[] = [];
    for (const { list, title, filter } of columns) {
      const found = await visit.ask(`GET ${at}/issues`, { ...filter, per_page: 20 });
      const issues = (found?.value ?? []) as readonly Shown[];
      const card = (issue: Shown, index: number) => {
        const isChosen = mayMove && issue.id === chosen;
        const name = html`<a href="${issue.web_url}">${issue.title}</a>`;
        const link = html`<a class="button quiet" href="?move=${issue.id}#card-${issue.id}">Move<span class="unseen"> ${issue.title}</span></a>`;
        const moved = { issue: issue.iid, project: issue.project_id, from: list };
        return html`<li class="card" id="card-${issue.id}"${mayMove && html` draggable="true" data-issue="${issue.iid}" data-project="${issue.project_id}"`}><div><h3>${name}</h3><p>${issue.references.short}</p></div>
${mayMove && (isChosen ? mover(visit, action, { columns, list, moved, index, last: issues.length - 1 }) : link)}</li>`;
      };
      const heading = `list-${list}`;
      shown.push(
        html`<section aria-labelledby="${heading}" data-list="${list}"><h2 id="${heading}">${title}</h2><ol class="rows">${issues.map(card)}</ol>${issues.length === 0 && html`<p class="lead">No issues</p>`}${found?.hasNext && html`<p class="lead">There are more.</p>`}</section>`,
      );
    }
    const filter = `${baseOf(place, visit)}/-/issues`;
    const empty = { issue: "", project: "", from: "", to: "", position: "" };
    return about(place, visit, {
      ...{ of: ["Boards", "/-/boards"], title: board.name, path, facts: [] },
      ...(mayMove && { script: DRAGGING }),
      body: html`${refused(visit)}<div class="columns">${shown}</div><p><a href="${filter}">All open issues</a> · <a href="${filter}?state=closed">All closed issues</a></p>
${mayMove && form(visit, action, html`${hidden(empty)}`, { id: "dragged" })}`,
    });
  },
});

/** The form that moves a card. */
function mover(
  visit: Visit,
  action: string,
  card: {
    readonly columns: readonly Column[];
    readonly list: string;
    readonly moved: Readonly<Record<string, unknown>>;
    /** Where it is in its column. */
    readonly index: number;
    readonly last: number;
  },
): Html {
  const { columns, list, moved, index, last } = card;
  const places = [
    ...(index > 1 && list !== "closed" ? [[String(index - 1), "One up"] as const] : []),
    ...(index < last && list !== "closed" ? [[String(index + 1), "One down"] as const] : []),
    ...[["0", "First"] as const, ["-1", "Last"] as const],
  ];
  const to = oneOf({
    ...{ name: "to", id: "move-to", label: "To", value: list },
    options: columns.map((column) => [column.list, column.title] as const),
  });
  const position = oneOf({
    ...{ name: "position", id: "move-position", label: "Place", value: places[0]?.[0] ?? "0" },
    options: places,
  });
  return form(visit, action, html`${hidden(moved)}${to}${position}<button>Move</button>`);
}

const list = param.anyText({ max: 20 });
/** How {@link MOVE_ISSUE} takes a list of a form. */
const listSent = (name: "from" | "to", sent: unknown) =>
  sent === "backlog" || sent === "closed"
    ? { [`${name}_list`]: sent }
    : { [`${name}_list_id`]: Number(sent) };

/** Pages of boards. */
export const boardPages: readonly Route[] = PLACES.flatMap((kind) => {
  const { page, of } = kind;
  const showing = boardShown(kind);
  const board = { board_id: param.recordId() };
  return [
    listOf(of as PlaceKind, {
      ...{ kind: "Boards", path: "/-/boards", list: "/boards", none: "There are no boards." },
      row: ({ id, name }, visit, place) =>
        row(html`<a href="${baseOf(place, visit)}/-/boards/${id}">${name}</a>`),
    }),
    page({
      ...{ ...showing, path: "/-/boards/:board_id", input: board },
      summary: `Show an issue board of a ${of}`,
      fields: { move: param.optional(param.recordId()) },
    }),
    actionIn(of, {
      path: "/-/boards/:board_id/move",
      summary: `Move an issue on a board of a ${of}`,
      input: board,
      fields: {
        ...{ issue: param.recordId(), project: param.recordId() },
        ...{ from: list, to: list, position: param.integer({ min: -1 }) },
      },
      performs: MOVE_ISSUE,
      sends: ({ board_id, issue, project, from, to, position }, _, source) => ({
        ...{ board_id, board_kind: of, board_owner_id: source?.id, id: project, issue_iid: issue },
        ...{ ...listSent("from", from), ...listSent("to", to), position },
      }),
      to: ({ id }, { board_id }) => `/-/boards/${board_id}#card-${id}`,
      again: showing,
    }),
  ];
});
