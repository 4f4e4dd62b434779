import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { pathOf } from "./code.ts";
import { projectAction, projectPage, type Showing } from "./declare.ts";
import { deleteButton, formPage } from "./forms.ts";
import { type ListSpec, listOf, listShown } from "./lists.ts";
import { about, at, commitLink, fact, placeOf, refused, row, tag } from "./parts.ts";

const BRANCH = "DELETE /projects/:id/repository/branches/:branch";
const TAG = "DELETE /projects/:id/repository/tags/:tag_name";

const branches: ListSpec = {
  ...{ kind: "Branches", path: "/-/branches", list: "/repository/branches", hasSearch: true },
  makes: "branch",
  none: "There are no branches.",
  row: ({ web_url, name, commit, ...branch }, visit, project) => {
    const isLasting = branch.default || branch.protected || !branch.can_push;
    return row(
      html`<a href="${web_url}">${name}</a>${tag(branch.default, "default")}${tag(branch.protected, "protected")}${tag(branch.merged, "merged")}`,
      commit && html`${commit.title} · ${at(commit.committed_date)}`,
      html`<div class="ends">${commit && commitLink(commit.id, project, visit)}${
        !isLasting &&
        visit.offers(BRANCH) &&
        deleteButton(
          visit,
          `${placeOf(project).address}${pathOf("branches", name)}/delete`,
          `Delete ${name}? What is only on this branch is lost.`,
          { of: name },
        )
      }</div>`,
    );
  },
};

const tagShown: Showing<"project" | "found"> = {
  shows: {
    project: "GET /projects/:id",
    found: "GET /projects/:id/repository/tags/:tag_name",
  },
  view: async ({ project, found }, visit) => {
    const base = mountOf(visit.view) + placeOf(project).address;
    const path = pathOf("tags", found.name);
    return about(project, visit, {
      of: ["Tags", "/-/tags"],
      title: found.name,
      path,
      facts: [
        fact("Commit", commitLink(found.commit.id, project, visit)),
        fact("Files", html`<a href="${base}${pathOf("tree", found.name)}">Its files</a>`),
      ],
      body: html`${refused(visit)}<section><pre>${found.message || found.commit.title}</pre></section>${
        visit.offers(TAG) &&
        deleteButton(
          visit,
          `${placeOf(project).address}${path}/delete`,
          "Delete this tag? Its release goes with it.",
        )
      }`,
    });
  },
};

/** Pages of branches and tags, with their forms. */
export const refPages: readonly Route[] = [
  listOf("project", branches),
  listOf("project", {
    ...{ kind: "Tags", path: "/-/tags", list: "/repository/tags", hasSearch: true },
    makes: "tag",
    none: "There are no tags.",
    row: ({ name, message, commit, ...one }, visit, project) =>
      row(
        html`<a href="${mountOf(visit.view)}${placeOf(project).address}${pathOf("tags", name)}">${name}</a>${tag(one.protected, "protected")}`,
        message || undefined,
        commitLink(commit.id, project, visit),
      ),
  }),
  projectPage({
    ...tagShown,
    path: "/-/tags/:tag_name*",
    summary: "Show a tag",
    input: { tag_name: param.anyText({ max: 1024 }) },
  }),
  ...formPage({
    ...{ of: "project", path: "/-/branches/new", summary: "Create a branch" },
    performs: "POST /projects/:id/repository/branches",
    fields: [
      { name: "branch", label: "Name" },
      {
        ...{ name: "ref", label: "From", hint: "A branch, a tag or a commit" },
        value: ({ place: project }) => project.default_branch,
      },
    ],
    title: () => "New branch",
    steps: () => [["Branches", "/-/branches"]],
    button: "Create branch",
    to: ({ name }) => pathOf("tree", name),
  }),
  projectAction({
    path: "/-/branches/:branch*/delete",
    summary: "Delete a branch",
    input: { branch: param.anyText({ max: 1024 }) },
    performs: BRANCH,
    again: listShown("project", branches),
    to: () => "/-/branches",
  }),
  ...formPage({
    ...{ of: "project", path: "/-/tags/new", summary: "Create a tag" },
    performs: "POST /projects/:id/repository/tags",
    fields: [
      { name: "tag_name", label: "Name" },
      {
        ...{ name: "ref", label: "On", hint: "A branch, a tag or a commit" },
        value: ({ place: project }) => project.default_branch,
      },
      {
        ...{ name: "message", label: "Message", kind: "lines", isOptional: true },
        hint: "With one, the tag says who made it and when.",
      },
    ],
    title: () => "New tag",
    steps: () => [["Tags", "/-/tags"]],
    button: "Create tag",
    to: ({ name }) => pathOf("tags", name),
  }),
  projectAction({
    path: "/-/tags/:tag_name*/delete",
    summary: "Delete a tag",
    input: { tag_name: param.anyText({ max: 1024 }) },
    performs: TAG,
    again: tagShown,
    to: () => "/-/tags",
  }),
];
