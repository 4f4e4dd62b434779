import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ORIGIN, Visitor } from "../visitor.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const PATH = "/application/appearance";
const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const INITIAL = {
  title: "",
  description: "",
  pwa_name: null,
  pwa_short_name: null,
  pwa_description: null,
  pwa_icon: null,
  logo: null,
  header_logo: null,
  favicon: null,
  member_guidelines: "",
  new_project_guidelines: "",
  profile_image_guidelines: "",
  header_message: "",
  footer_message: "",
  message_background_color: "#E75E40",
  message_font_color: "#FFFFFF",
  email_header_and_footer_enabled: false,
};
const read = async (as: Person = "admin") => (await app.call(`GET ${PATH}`, { as })).json;
const put = (json: object, as: Person = "admin") => app.call(`PUT ${PATH}`, { as, json });

it("is read and changed by administrators only", async () => {
  expect(await read()).toEqual(INITIAL);
  for (const [as, status] of [
    ["owner", 403],
    ["anonymous", 401],
  ] as const) {
    expect((await app.call(`GET ${PATH}`, { as })).status).toBe(status);
    expect((await put({ title: "x" }, as)).status).toBe(status);
  }
});

it("keeps texts, and shows those of the sign-in page there", async () => {
  const texts = {
    title: "The <Forge>",
    description: "Where we work",
    pwa_name: "Forge",
    pwa_short_name: "F",
    pwa_description: "To install",
    member_guidelines: "Ask first",
    new_project_guidelines: "Small ones",
    profile_image_guidelines: "Faces",
    header_message: "Maintenance at noon",
    footer_message: "Call 123",
    message_background_color: "#abc",
    message_font_color: "#012345",
    email_header_and_footer_enabled: true,
  };
  const changed = await put(texts);
  expect([changed.status, changed.json]).toEqual([200, { ...INITIAL, ...texts }]);
  expect(await read()).toEqual(changed.json);
  const { page } = await new Visitor(app).get("/users/sign_in");
  for (const text of ["The &lt;Forge&gt;", "Where we work", "Maintenance at noon", "Call 123"]) {
    expect(page).toContain(text);
  }
  expect((await put({ title: "" })).json.title).toBe("");
  const [event] = await app.admin.auditEvents.list({ action: "appearance changed" });
  expect(event).toMatchObject({ action: "appearance changed", target: "title" });
});

it("has pictures, which anybody may download", async () => {
  const body = new FormData();
  for (const name of ["logo", "header_logo", "favicon", "pwa_icon"]) {
    body.append(name, new Blob([PNG]), `${name}.png`);
  }
  const { status, json } = await app.call(`PUT ${PATH}`, { as: "admin", body });
  expect(status).toBe(200);
  for (const name of ["logo", "header_logo", "favicon", "pwa_icon"]) {
    expect(json[name]).toBe(`/uploads/-/system/appearance/${name}/1/${name}.png`);
    const answer = await app.fetch(new Request(`${ORIGIN}${json[name]}`));
    expect(answer.headers.get("content-type")).toBe("image/png");
    expect(digest(new Uint8Array(await answer.arrayBuffer()))).toBe(digest(PNG));
  }
  const other = json.logo.replace("logo.png", "other.png");
  expect((await app.fetch(new Request(`${ORIGIN}${other}`))).status).toBe(404);
  expect((await put({ logo: "", favicon: null })).json).toMatchObject({ logo: null });
  expect((await app.fetch(new Request(`${ORIGIN}${json.logo}`))).status).toBe(404);
});

const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

it.each([
  ["favicon", "no picture", "file format is not supported"],
  ["header_logo", "x".repeat(1024 * 1024 + 1), "is too big (should be at most 1 MiB)"],
])("refuses a %s that can't be one", async (name, content, reason) => {
  const body = new FormData();
  body.append(name, new Blob([content]), "a.png");
  const { status, json } = await app.call(`PUT ${PATH}`, { as: "admin", body });
  expect([status, json.message[name][0]]).toEqual([400, expect.stringContaining(reason)]);
});

it("refuses what is no colour", async () => {
  const { status, json } = await put({ message_font_color: "red" });
  expect([status, json]).toEqual([
    400,
    { message: { message_font_color: ["must be a valid color code"] } },
  ]);
});
