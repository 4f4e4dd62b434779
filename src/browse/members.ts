import { invalid } from "../core/errors.ts";
import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { confirmButton } from "../pages/form.ts";
import { html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { actionIn, pageOf, type Showing, type Shown, type Visit } from "./declare.ts";
import { type FormField, formPage } from "./forms.ts";
import type { PlaceKind } from "./lists.ts";
import { LEVELS, listed, newButton, pageIn, person, placeOf, refused, row } from "./parts.ts";
import { formsOf, type SettingKind, sectionOf } from "./settings.ts";

const MEMBERSHIP: readonly FormField[] = [
  {
    ...{ name: "access_level", label: "Role", kind: "one" },
    among: () => [10, 15, 20, 30, 40, 50].map((level) => [String(level), LEVELS[level] as string]),
  },
  {
    ...{ name: "expires_at", label: "Until", kind: "date", isOptional: true },
    hint: "From that day on they are no member; if empty, they stay",
  },
];

/** What a member is, at the end of their row. */
const roleOf = ({ access_level, expires_at }: Shown): string =>
  `${LEVELS[access_level]}${expires_at ? `, until ${expires_at}` : ""}`;

const invitations: SettingKind = {
  ...{ what: "invitation", title: "Invitations", at: "/invitations", key: "email" },
  ...{ nameOf: ({ invite_email }) => invite_email, none: "Nobody is invited." },
  row: (one) => [one.invite_email, roleOf(one)],
  fields: [
    { name: "email", label: "E-mail address", hint: "Several are separated by commas" },
    ...MEMBERSHIP,
  ],
  check: ({ status, message }) => {
    if (status === "error") throw invalid({ email: Object.values(message).map(String) });
  },
  removal: ["Withdraw", "The invitation can't be accepted any more."],
};

/** Whether members are to be changed here. */
const mayChange = (of: PlaceKind, visit: Visit): boolean =>
  visit.offers(`PUT /${of}s/:id/members/:user_id`);

/** The members of a page of them that are direct: the others are changed where they come from. */
async function directAmong(of: PlaceKind, rows: readonly Shown[], visit: Visit) {
  if (!mayChange(of, visit) || rows.length === 0) return new Set();
  const user_ids = rows.map(({ id }) => id);
  const found = await visit.ask(`GET /${of}s/:id/members`, { user_ids, per_page: rows.length });
  return new Set(((found?.value ?? []) as readonly Shown[]).map(({ id }) => id));
}

/** Pages of the members of a group or project. */
function membersOf(of: PlaceKind): readonly Route[] {
  const path = `/-/${of}_members`;
  const api = `/${of}s/:id/members`;
  const page = {
    ...{ of, path, title: "Members" },
    ...{ needs: `GET /${of}s/:id/invitations`, kinds: [invitations] },
  };
  const showing: Showing<string> = {
    shows: { place: `GET /${of}s/:id`, rows: `GET ${api}/all` },
    view: async ({ place, rows }, visit) => {
      const own = placeOf(place).address + path;
      const direct = await directAmong(of, rows, visit);
      const buttons = ({ id, name }: Shown) =>
        direct.has(id) &&
        html`<div class="actions"><a class="button quiet" href="${mountOf(visit.view)}${own}/${id}/edit" aria-label="Edit ${name}">Edit</a>
${confirmButton(visit, { label: "Remove", of: name, question: `${name} loses what members have.`, action: `${own}/${id}/delete` })}</div>`;
      const members = listed("rows", rows, visit, {
        ...{ path: own, none: "There are no members." },
        row: (one) =>
          row(person(one, visit), `@${one.username}`, html`${roleOf(one)}${buttons(one)}`),
      });
      const add = newButton(place, visit, { path, what: "member", route: `POST ${api}` });
      const invited =
        visit.caller &&
        visit.offers(page.needs) &&
        (await sectionOf(page, invitations, place, visit));
      return pageIn(place, visit, {
        ...{ title: "Members", steps: [["Members", path]] },
        body: html`${refused(visit)}${add}<section>${members}</section>${invited}`,
      });
    },
  };
  const input = { user_id: param.recordId() };
  const shared = { of, steps: () => [["Members", path]] as const, to: () => path };
  return [
    pageOf(of)({
      ...{ ...showing, path, summary: `Show the members of a ${of}` },
      input: { query: param.optional(param.anyText()) },
    }),
    ...formPage({
      ...{ ...shared, path: `${path}/new`, summary: `Add a member to a ${of}` },
      performs: `POST ${api}`,
      fields: [{ name: "username", label: "User name" }, ...MEMBERSHIP],
      sends: async ({ username, ...sent }, { perform }) => {
        const name = String(username ?? "").replace(/^@/, "");
        const { value } = await perform("GET /users", { username: name });
        const [user] = value as readonly Shown[];
        if (!name || !user) throw invalid({ username: [name ? "is nobody's" : "can't be blank"] });
        return { ...sent, user_id: user.id };
      },
      title: () => "New member",
      button: "Add member",
    }),
    ...formPage({
      ...{ ...shared, path: `${path}/:user_id/edit`, summary: `Change a member of a ${of}`, input },
      shows: { found: `GET ${api}/:user_id` },
      performs: `PUT ${api}/:user_id`,
      fields: MEMBERSHIP,
      title: ({ found }) => `Edit ${found.name}`,
      button: "Save changes",
    }),
    actionIn(of, {
      ...{ path: `${path}/:user_id/delete`, summary: `Remove a member of a ${of}`, input },
      ...{ performs: `DELETE ${api}/:user_id`, again: showing, to: shared.to },
    }),
    ...formsOf(page, invitations, showing),
  ];
}

/** Pages of members. */
export const memberPages: readonly Route[] = [...membersOf("project"), ...membersOf("group")];
