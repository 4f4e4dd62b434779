import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { form } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { actionIn, type Showing, type Shown, type Visit } from "./declare.ts";
import { deleteButton, type FormField, formPage } from "./forms.ts";
import type { PlaceKind } from "./lists.ts";
import { placeOf } from "./parts.ts";

const MILESTONE_FIELDS: readonly FormField[] = [
  { name: "title", label: "Title" },
  {
    ...{ name: "description", label: "Description", kind: "lines", isOptional: true },
    isMarkdown: true,
  },
  { name: "start_date", label: "Start", kind: "date", isOptional: true },
  { name: "due_date", label: "Due", kind: "date", isOptional: true },
];

/** The API knows milestones by ids, and addresses by numbers: forms send both. */
const MILESTONE_ID: FormField = {
  ...{ name: "milestone_id", label: "Id", kind: "hidden" },
  value: ({ found }) => found.id,
};

/** What those who may do with a milestone. */
export function milestoneButtons(
  place: Shown,
  milestone: Shown,
  visit: Visit,
  of: PlaceKind,
): Html | false {
  const path = `${placeOf(place).address}/-/milestones/${milestone.iid}`;
  const id = html`<input type="hidden" name="milestone_id" value="${milestone.id}">`;
  const [event, label] = milestone.state === "active" ? ["close", "Close"] : ["activate", "Reopen"];
  return (
    visit.offers(`PUT /${of}s/:id/milestones/:milestone_id`) &&
    html`<div class="actions"><a class="button quiet" href="${mountOf(visit.view)}${path}/edit">Edit</a>
${form(visit, `${path}/state`, html`${id}<input type="hidden" name="state_event" value="${event}"><button class="quiet">${label}</button>`)}
${deleteButton(visit, `${path}/delete`, "Delete this milestone? What it has stays.", { body: id })}</div>`
  );
}

/** Forms about milestones. @param again the page of one */
export const milestoneForms = (of: PlaceKind, again: Showing<string>): readonly Route[] => {
  const at = `/${of}s/:id/milestones`;
  const input = { iid: param.recordId() };
  const to = (_: Shown, { iid }: Readonly<Record<string, unknown>>) => `/-/milestones/${iid}`;
  const milestone = { milestone_id: param.recordId() };
  return [
    ...formPage({
      ...{ of, path: "/-/milestones/new", summary: `Create a milestone in a ${of}` },
      performs: `POST ${at}`,
      fields: MILESTONE_FIELDS,
      title: () => "New milestone",
      steps: () => [["Milestones", "/-/milestones"]],
      button: "Create milestone",
      to: (made) => `/-/milestones/${made.iid}`,
    }),
    ...formPage({
      ...{ of, path: "/-/milestones/:iid/edit", summary: `Change a milestone of a ${of}`, input },
      shows: { found: [`GET ${at}`, { iids: "iid" }] },
      one: "found",
      performs: `PUT ${at}/:milestone_id`,
      fields: [...MILESTONE_FIELDS, MILESTONE_ID],
      title: ({ found }) => `Edit ${found.title}`,
      steps: ({ found }) => [
        ["Milestones", "/-/milestones"],
        [found.title, `/-/milestones/${found.iid}`],
      ],
      ...{ button: "Save changes", to },
    }),
    actionIn(of, {
      path: "/-/milestones/:iid/state",
      summary: `Close or reopen a milestone of a ${of}`,
      ...{ input, fields: { ...milestone, state_event: param.choice(["close", "activate"]) } },
      ...{ performs: `PUT ${at}/:milestone_id`, again, to },
    }),
    actionIn(of, {
      path: "/-/milestones/:iid/delete",
      summary: `Delete a milestone of a ${of}`,
      ...{ input, fields: milestone },
      ...{ performs: `DELETE ${at}/:milestone_id`, again, to: () => "/-/milestones" },
    }),
  ];
};

/** What is said of a label. @param name of the field for its own: the API takes a new one as another */
const labelFields = (of: PlaceKind, name: string): readonly FormField[] => [
  { name, label: "Name", value: ({ found }) => found?.name },
  {
    ...{ name: "color", label: "Color", hint: "Such as #1f75cb, or a name such as red" },
    value: ({ found }) => found?.color ?? "#1f75cb",
  },
  { name: "description", label: "Description", isOptional: true },
  ...(of === "project"
    ? [
        {
          ...{ name: "priority", label: "Priority", isOptional: true },
          hint: "A number from 0; lower ones come first",
        } as const,
      ]
    : []),
];

/** Forms about labels. @param again the list of them */
export const labelForms = (of: PlaceKind, again: Showing<string>): readonly Route[] => {
  const at = `/${of}s/:id/labels`;
  const label = { label_id: param.recordId() };
  const shared = {
    steps: () => [["Labels", "/-/labels"]] as const,
    to: () => "/-/labels",
  };
  return [
    ...formPage({
      ...{ of, path: "/-/labels/new", summary: `Create a label in a ${of}`, ...shared },
      performs: `POST ${at}`,
      fields: labelFields(of, "name"),
      title: () => "New label",
      button: "Create label",
    }),
    ...formPage({
      ...{ of, path: "/-/labels/:label_id/edit", summary: `Change a label of a ${of}`, ...shared },
      input: label,
      shows: { found: `GET ${at}/:label_id` },
      performs: `PUT ${at}/:label_id`,
      fields: labelFields(of, "new_name"),
      title: ({ found }) => `Edit ${found.name}`,
      button: "Save changes",
      below: ({ place, found }, visit) =>
        deleteButton(
          visit,
          `${placeOf(place).address}/-/labels/${found.id}/delete`,
          "Delete this label? Everything loses it.",
        ),
    }),
    actionIn(of, {
      path: "/-/labels/:label_id/delete",
      summary: `Delete a label of a ${of}`,
      input: label,
      ...{ performs: `DELETE ${at}/:label_id`, again, to: shared.to },
    }),
  ];
};
