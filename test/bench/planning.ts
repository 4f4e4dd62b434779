import type { Operation } from "./operations.ts";
import { CHANGED_ISSUES } from "./seed.ts";

/** An operation of planning, with its counterpart in emulate's GitHub if there is one. */
export interface PlanningOperation extends Operation {
  emulated?: Pick<Operation, "method" | "path" | "body" | "each">;
}

const PROJECT = "/projects/acme%2Fproject-0";
const REPOSITORY = "/repos/acme/project-0";
const [CHANGED, CHANGED_REPOSITORY] = ["/projects/acme%2Fproject-1", "/repos/acme/project-1"];
/** Another one, since answers to a change of the state have the title, too. */
const CLOSED = "/projects/acme%2Fproject-3";

const TITLE = "Something that was found while measuring";
const TEXT = "It is described in some sentences, since most people do that. ".repeat(5);

/** The floor of answers with one record, and that of lists. */
const [SINGLE, LIST] = [0.5, 0.8];

const get = (name: string, path: string, floor: number, emulated?: string): PlanningOperation => ({
  ...{ name, method: "GET", path, floor },
  ...(emulated !== undefined && { emulated: { method: "GET", path: emulated } }),
});

const body = (value: object) => JSON.stringify(value);

/** The number of the issue that the next request changes, and how often it was changed. */
const nextIssue = (before: number) => ({
  iid: 1 + (before % CHANGED_ISSUES),
  round: Math.floor(before / CHANGED_ISSUES),
});

/** What clients of a tracker do most, on the seeded data. */
export const PLANNING_OPERATIONS: readonly PlanningOperation[] = [
  get("the caller", "/user", SINGLE, "/user"),
  get("one project", PROJECT, SINGLE, REPOSITORY),
  get("one issue", `${PROJECT}/issues/7`, SINGLE, `${REPOSITORY}/issues/7`),
  get("one label", `${PROJECT}/labels/Label%2012`, SINGLE, `${REPOSITORY}/labels/Label%2012`),
  get("20 issues of a project", `${PROJECT}/issues`, LIST, `${REPOSITORY}/issues?per_page=20`),
  get("20 issues of all projects", "/issues?scope=all", LIST),
  get("20 labels with counts", `${PROJECT}/labels`, LIST, `${REPOSITORY}/labels?per_page=20`),
  get(
    "20 merge requests",
    `${PROJECT}/merge_requests`,
    LIST,
    "/repos/acme/requests/pulls?per_page=20",
  ),
  get("20 notes", `${PROJECT}/issues/1/notes`, LIST, `${REPOSITORY}/issues/1/comments?per_page=20`),
  get("20 todos", "/todos", LIST),
  {
    name: "create an issue",
    method: "POST",
    path: "/projects/acme%2Fproject-2/issues",
    body: body({ title: TITLE, description: TEXT }),
    floor: SINGLE,
    emulated: {
      method: "POST",
      path: "/repos/acme/project-2/issues",
      body: body({ title: TITLE, body: TEXT }),
    },
  },
  {
    name: "create a note",
    method: "POST",
    path: `${PROJECT}/issues/2/notes`,
    body: body({ body: TEXT }),
    floor: SINGLE,
    emulated: {
      method: "POST",
      path: `${REPOSITORY}/issues/2/comments`,
      body: body({ body: TEXT }),
    },
  },
  {
    name: "change an issue",
    method: "PUT",
    path: CHANGED,
    each: (before) => {
      const { iid, round } = nextIssue(before);
      return { path: `${CHANGED}/issues/${iid}`, body: body({ title: `${TITLE}, time ${round}` }) };
    },
    floor: SINGLE,
    emulated: {
      method: "PATCH",
      path: CHANGED_REPOSITORY,
      each: (before) => {
        const { iid, round } = nextIssue(before);
        const path = `${CHANGED_REPOSITORY}/issues/${iid}`;
        return { path, body: body({ title: `${TITLE}, time ${round}` }) };
      },
    },
  },
  {
    name: "close an issue, or open it again",
    method: "PUT",
    path: CLOSED,
    each: (before) => {
      const { iid, round } = nextIssue(before);
      const state_event = round % 2 === 0 ? "close" : "reopen";
      return { path: `${CLOSED}/issues/${iid}`, body: body({ state_event }) };
    },
    floor: SINGLE,
    emulated: {
      method: "PATCH",
      path: CHANGED_REPOSITORY,
      each: (before) => {
        const { iid, round } = nextIssue(before);
        const state = round % 2 === 0 ? "closed" : "open";
        return { path: `${CHANGED_REPOSITORY}/issues/${iid}`, body: body({ state }) };
      },
    },
  },
];

/** emulate lets each token send 5,000 requests an hour. */
export const EMULATED_TOKENS = 400;

/** The counterpart of an operation in emulate, if it has one. */
export function emulated({ name, floor, emulated }: PlanningOperation): Operation | undefined {
  if (!emulated) return undefined;
  return {
    ...{ ...emulated, name, floor, base: "" },
    each: (before) => ({
      ...emulated.each?.(before),
      authorization: `token bench-${before % EMULATED_TOKENS}`,
    }),
  };
}
