import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const FIELDS = "notificationSettings { level notificationEmail events { newNote newEpic } }";

const settings = async (as: Person) => {
  const query = `{ currentUser { ${FIELDS} } group(fullPath: "acme") { ${FIELDS} }
    project(fullPath: "acme/site") { ${FIELDS} } }`;
  const { currentUser, group, project } = await ask(app, query, {}, as);
  return [currentUser, group, project].map((on) => on?.notificationSettings ?? null);
};

const update = async (input: object, as: Person = "guest") => {
  const { data, errors } = await send(
    app,
    as,
    `mutation ($input: NotificationSettingsUpdateInput!) {
      notificationSettingsUpdate(input: $input) { errors ${FIELDS} } }`,
    { input },
  );
  return { ...data.notificationSettingsUpdate, refused: errors?.[0].message };
};

const none = { notificationEmail: null, events: null };

it("notification settings are the caller's, as REST shows them", async () => {
  const { json } = await app.call("GET /notification_settings", { as: "guest" });
  const unset = { level: "GLOBAL", ...none };
  const mine = { level: "PARTICIPATING", notificationEmail: json.notification_email, events: null };
  expect(await settings("guest")).toEqual([mine, unset, unset]);
  expect(await settings("anonymous")).toEqual([null, null, null]);
});

it("they are changed for a group, for a project and for everything", async () => {
  const group = await update({ groupPath: "acme", level: "WATCH" });
  expect(group.notificationSettings).toEqual({ level: "WATCH", ...none });
  const custom = { level: "CUSTOM", ...none, events: { newNote: true, newEpic: false } };
  const project = await update({
    projectPath: "acme/site",
    level: "CUSTOM",
    events: { newNote: true },
  });
  expect(project.notificationSettings).toEqual(custom);
  const all = await update({ level: "MENTION" });
  expect(all.notificationSettings.level).toBe("MENTION");
  expect(await settings("guest")).toEqual([
    all.notificationSettings,
    group.notificationSettings,
    custom,
  ]);
  const { json } = await app.call("GET /projects/acme%2Fsite/notification_settings", {
    as: "guest",
  });
  expect(json).toMatchObject({ level: "custom", events: { new_note: true, new_epic: false } });
  expect((await settings("owner"))[1]).toEqual({ level: "GLOBAL", ...none });
});

it("they are refused for what the caller may not see, and for addresses of others", async () => {
  expect((await update({ projectPath: "secret/vault" }, "stranger")).refused).toBe(NOT_AVAILABLE);
  expect((await update({ level: "WATCH" }, "anonymous")).refused).toBe(NOT_AVAILABLE);
  expect((await update({ groupPath: "acme", projectPath: "acme/site" })).refused).toBe(
    "Only one of [groupPath, projectPath] arguments is allowed at the same time.",
  );
  expect((await update({ notificationEmail: "other@pm.test" })).errors).toEqual([
    "Notification email is not an email you own",
  ]);
});
