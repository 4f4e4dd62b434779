import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { mayDelete, mayPlan, mayUpdate } from "../resources/issuables/abilities.ts";
import { targetRoute } from "../resources/target-branch-rules/actions.ts";
import type { Shown, Visit } from "./declare.ts";
import { deleteButton, type FormField, type FormSpec, type Found, formPage } from "./forms.ts";
import { placeOf } from "./parts.ts";

const ISSUE = { prefix: "issue" } as const;
const REQUEST = { prefix: "merge_request" } as const;

/** Whether the visitor may change an issue or merge request. */
export const mayChange = (found: Shown, visit: Visit): boolean =>
  visit.may(mayUpdate(found.source_branch === undefined ? ISSUE : REQUEST), {
    author_id: found.author?.id ?? null,
    assigned: Number(
      (found.assignees as readonly Shown[]).some(({ id }) => id === visit.caller?.id),
    ),
  });

/** Whether the visitor may plan. */
const isPlanner = (_: Shown, visit: Visit): boolean =>
  visit.may((_subject, { source }) => mayPlan(source), undefined);

/** People who can be chosen, and those who are. */
const people = (name: string, label: string, of: string): FormField => ({
  ...{ name, label, kind: "many", isOptional: true, when: isPlanner },
  among: {
    from: "GET /projects/:id/members/all",
    as: ({ id, name: theirs, username }) => [String(id), `${theirs} (@${username})`],
  },
  value: ({ found }) =>
    (found?.[of] ?? []).map((one: Shown) => [String(one.id), `${one.name} (@${one.username})`]),
});

const TEXTS: readonly FormField[] = [
  { name: "title", label: "Title" },
  {
    ...{ name: "description", label: "Description", kind: "lines", isOptional: true },
    isMarkdown: true,
  },
];

const PLANS: readonly FormField[] = [
  people("assignee_ids", "Assignees", "assignees"),
  {
    ...{ name: "labels", label: "Labels", kind: "many", isOptional: true, when: isPlanner },
    among: { from: "GET /projects/:id/labels", as: ({ name }) => [name, name] },
    value: ({ found }) => (found?.labels ?? []).map((name: string) => [name, name]),
  },
  {
    ...{ name: "milestone_id", label: "Milestone", kind: "one", isOptional: true, when: isPlanner },
    among: {
      from: "GET /projects/:id/milestones",
      with: { state: "active", include_ancestors: true },
      as: ({ id, title }) => [String(id), title],
    },
    value: ({ found }) => found?.milestone?.id,
  },
];

const ISSUE_FIELDS: readonly FormField[] = [
  ...TEXTS,
  {
    ...{ name: "confidential", label: "Confidential", kind: "flag" },
    hint: "Only its author, its assignees and members from reporters on see it",
  },
  ...PLANS,
  {
    ...{ name: "due_date", label: "Due date", kind: "date", isOptional: true, when: isPlanner },
  },
];

/** Branches that can be chosen. */
const BRANCHES: Found = {
  from: "GET /projects/:id/repository/branches",
  as: ({ name }) => [name, name],
  isName: true,
};

const REQUEST_PLANS: readonly FormField[] = [
  ...PLANS,
  people("reviewer_ids", "Reviewers", "reviewers"),
];

/** How it is merged. */
const MERGING: readonly FormField[] = [
  {
    ...{ name: "remove_source_branch", label: "Delete its branch when it is merged", kind: "flag" },
    value: ({ found }) => found?.force_remove_source_branch,
  },
  { name: "squash", label: "Squash its commits", kind: "flag" },
];

const REQUEST_FIELDS: readonly FormField[] = [
  ...TEXTS,
  { name: "target_branch", label: "Into the branch", kind: "one", among: BRANCHES },
  ...REQUEST_PLANS,
  ...MERGING,
];

const isFork = ({ forked_from_project: origin }: Shown): boolean => Boolean(origin);

/** What a merge request of a branch is called unless somebody says it: `fix-login` → `Fix login`. */
const nameOf = (branch: unknown): string => {
  const words = String(branch ?? "").replace(/[-_]+/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** The branch of a project that a merge request of the chosen branch leads into, unless it says another one. */
async function targetIn(project: Shown, { ask, parameters }: Visit): Promise<unknown> {
  const source_branch = String(parameters["source_branch"] ?? "");
  const found = await ask(targetRoute, { id: project.id, source_branch });
  return (found?.value as Shown)?.target_branch;
}

/** Where a merge request may lead: into the project itself, and into that which it is a fork of. */
const targets = ({ place }: Shown) =>
  [place, place.forked_from_project]
    .filter(Boolean)
    .map(({ id, name_with_namespace: name }: Shown) => [String(id), name] as const);

/** A button that deletes an issue or merge request, for those who may. */
const deletes =
  (name: "issues" | "merge_requests", what: string): NonNullable<FormSpec["below"]> =>
  ({ place, found }, visit) =>
    visit.may((_, { source }) => mayDelete(source), undefined) &&
    deleteButton(
      visit,
      `${placeOf(place).address}/-/${name}/${found.iid}/delete`,
      `Delete this ${what}? It can't be brought back.`,
    );

/** Forms in which issues and merge requests are written. */
export const issuableForms: readonly Route[] = [
  ...formPage({
    ...{ of: "project", path: "/-/issues/new", summary: "Create an issue", word: "issue" },
    performs: "POST /projects/:id/issues",
    fields: ISSUE_FIELDS,
    title: () => "New issue",
    steps: () => [["Issues", "/-/issues"]],
    button: "Create issue",
    to: ({ iid }) => `/-/issues/${iid}`,
  }),
  ...formPage({
    ...{ of: "project", path: "/-/issues/:issue_iid/edit", summary: "Change an issue" },
    input: { issue_iid: param.recordId() },
    shows: { found: "GET /projects/:id/issues/:issue_iid" },
    performs: "PUT /projects/:id/issues/:issue_iid",
    fields: ISSUE_FIELDS,
    may: ({ found }, visit) => mayChange(found, visit),
    title: ({ found }) => `Edit ${found.references.short}`,
    steps: ({ found }) => [
      ["Issues", "/-/issues"],
      [found.references.short, `/-/issues/${found.iid}`],
    ],
    button: "Save changes",
    to: (_, { issue_iid: iid }) => `/-/issues/${iid}`,
    below: deletes("issues", "issue"),
  }),
  ...formPage({
    ...{ of: "project", path: "/-/merge_requests/new", word: "merge_request" },
    summary: "Create a merge request",
    performs: "POST /projects/:id/merge_requests",
    fields: [
      { name: "source_branch", label: "From the branch", kind: "one", among: BRANCHES },
      {
        ...{ name: "target_project_id", label: "Into the project", kind: "one", among: targets },
        when: ({ place }) => isFork(place),
        value: (shown) => targets(shown).at(-1)?.[0],
      },
      {
        ...{ name: "target_branch", label: "Into the branch", kind: "one", among: BRANCHES },
        when: ({ place }) => !isFork(place),
        value: ({ place }, visit) => targetIn(place, visit),
      },
      {
        ...{ name: "target_branch", label: "Into the branch" },
        when: ({ place }) => isFork(place),
        value: ({ place }, visit) => targetIn(place.forked_from_project, visit),
      },
      {
        ...{ name: "title", label: "Title" },
        value: (_, { parameters }) => nameOf(parameters["source_branch"]),
      },
      ...TEXTS.filter(({ name }) => name !== "title"),
      // What a fork has is not what there is where its requests lead.
      ...REQUEST_PLANS.map((one) => ({
        ...one,
        when: (shown: Shown, visit: Visit) => !isFork(shown.place) && isPlanner(shown, visit),
      })),
      ...MERGING,
    ],
    title: () => "New merge request",
    steps: () => [["Merge requests", "/-/merge_requests"]],
    button: "Create merge request",
    to: ({ web_url }) => web_url,
  }),
  ...formPage({
    ...{ of: "project", path: "/-/merge_requests/:merge_request_iid/edit" },
    summary: "Change a merge request",
    input: { merge_request_iid: param.recordId() },
    shows: { found: "GET /projects/:id/merge_requests/:merge_request_iid" },
    performs: "PUT /projects/:id/merge_requests/:merge_request_iid",
    fields: REQUEST_FIELDS,
    may: ({ found }, visit) => mayChange(found, visit),
    title: ({ found }) => `Edit ${found.references.short}`,
    steps: ({ found }) => [
      ["Merge requests", "/-/merge_requests"],
      [found.references.short, `/-/merge_requests/${found.iid}`],
    ],
    button: "Save changes",
    to: (_, { merge_request_iid: iid }) => `/-/merge_requests/${iid}`,
    below: deletes("merge_requests", "merge request"),
  }),
];
