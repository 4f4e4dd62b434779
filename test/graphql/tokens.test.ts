import { afterAll, beforeAll, expect, it } from "vitest";
import { baseSeed, type Person, type TestApp, testApp } from "../helpers.ts";
import { ENDPOINT, NOT_AVAILABLE, send } from "./ask.ts";

const seed = {
  ...baseSeed,
  users: (baseSeed.users ?? []).map((user) =>
    user.username === "developer"
      ? {
          ...user,
          tokens: [
            ...(user.tokens ?? []),
            { name: "script", scopes: ["read_api" as const], expires_at: "2099-01-01" },
            { name: "old", expires_at: "2020-01-01" },
            { name: "borrowed", impersonation: true },
          ],
        }
      : user,
  ),
};

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ seed });
});
afterAll(() => app.dispose());

async function tokens(args = "", as: Person = "developer") {
  const { data, errors } = await send(
    app,
    as,
    `{ currentUser { personalAccessTokens${args} { nodes { id name description active revoked scopes
      createdAt lastUsedAt expiresAt } } } }`,
  );
  if (errors) throw new Error(errors[0].message);
  return data.currentUser?.personalAccessTokens.nodes ?? null;
}

const names = async (args = "", as: Person = "developer") =>
  (await tokens(args, as)).map(({ name }: { name: string }) => name);

it("a user's tokens have the values that REST shows", async () => {
  const { json } = await app.call("GET /personal_access_tokens", { as: "developer" });
  const seconds = (at: string | null) => at?.replace(/\.\d+Z$/, "Z") ?? null;
  expect(await tokens()).toEqual(
    json.map(({ user_id: _, ...token }: Record<string, string>) => ({
      id: `gid://gitlab/PersonalAccessToken/${token["id"]}`,
      name: token["name"],
      description: null,
      active: token["active"],
      revoked: false,
      scopes: token["scopes"],
      createdAt: seconds(token["created_at"] as string),
      lastUsedAt: seconds(token["last_used_at"] as string | null),
      expiresAt: token["expires_at"],
    })),
  );
});

it.each([
  ["", ["seed", "script", "old"]],
  ["(state: ACTIVE)", ["seed", "script"]],
  ["(state: INACTIVE)", ["old"]],
  ["(revoked: true)", []],
  ['(search: "CRI")', ["script"]],
  ['(expiresBefore: "2030-01-01")', ["old"]],
  ['(expiresAfter: "2030-01-01")', ["script"]],
  ['(createdAfter: "2999-01-01")', []],
  ["(sort: NAME_DESC)", ["seed", "script", "old"]],
  ["(sort: EXPIRES_ASC)", ["old", "script", "seed"]],
  ["(sort: ID_DESC, first: 1)", ["old"]],
])("they are filtered and sorted: %s", async (args, expected) => {
  expect(await names(args)).toEqual(expected);
});

it("anonymous callers have none", async () => {
  expect(await tokens("", "anonymous")).toBeNull();
});

const revoke = (id: string, as: Person) =>
  send(
    app,
    as,
    `mutation ($id: PersonalAccessTokenID!) { personalAccessTokenRevoke(input: { id: $id }) {
      errors personalAccessToken { name revoked active } } }`,
    { id },
  );
const rotate = (id: string, as: Person, expiresAt?: string) =>
  send(
    app,
    as,
    `mutation ($id: PersonalAccessTokenID!, $expiresAt: ISO8601Date) {
      personalAccessTokenRotate(input: { id: $id, expiresAt: $expiresAt }) {
        errors token personalAccessToken { name expiresAt scopes } } }`,
    { id, expiresAt },
  );

it("they are rotated and revoked by their user and by administrators", async () => {
  const [{ id }] = await tokens('(search: "script")');
  for (const as of ["owner", "anonymous"] as const) {
    expect((await revoke(id, as)).errors?.[0].message).toBe(NOT_AVAILABLE);
    expect((await rotate(id, as)).errors?.[0].message).toBe(NOT_AVAILABLE);
  }
  const { token, personalAccessToken } = (await rotate(id, "developer", "2098-01-01")).data
    .personalAccessTokenRotate;
  expect(personalAccessToken).toEqual({
    name: "script",
    expiresAt: "2098-01-01",
    scopes: ["read_api"],
  });
  const used = () =>
    app.call(`POST ${ENDPOINT}`, {
      headers: { authorization: `Bearer ${token}` },
      json: { query: "{ currentUser { username } }" },
    });
  expect((await used()).json.data.currentUser).toEqual({ username: "developer" });
  const [current] = await tokens('(search: "script", state: ACTIVE)');
  const revoked = await revoke(current.id, "admin");
  expect(revoked.data.personalAccessTokenRevoke).toEqual({
    errors: [],
    personalAccessToken: { name: "script", revoked: true, active: false },
  });
  expect((await used()).status).toBe(401);
  expect((await rotate(current.id, "developer")).data.personalAccessTokenRotate).toEqual({
    errors: ["Token already revoked"],
    token: null,
    personalAccessToken: null,
  });
});
