import * as param from "../core/input.ts";
import { Json, RawReply, type Route, routes } from "../core/resource.ts";
import { texts as gpgKeyTexts } from "../resources/gpg-keys/queries.ts";
import { authorizedKeys } from "../resources/keys/queries.ts";
import * as namespaces from "../resources/namespaces/queries.ts";
import { requireUserNamed } from "../resources/users/rules.ts";

const { get } = routes();

/** Addresses of users: of their keys, which servers are set up with, and whether a name is taken. */
export const userAddresses: readonly Route[] = [
  get("/users/:username/exists", {
    summary: "Get whether a user or group has a name",
    input: { username: param.anyText({ max: 255 }) },
    examples: [{ exists: true }],
    handle: async ({ db, input }) =>
      new Json({ exists: await namespaces.isTaken(db, input.username) }),
  }),
  get("/:username.keys", {
    answersWith: "text/plain",
    summary: "List the SSH keys that a user signs in with, one in a line",
    access: "anyone",
    input: { username: param.anyText({ max: 255 }) },
    handle: async ({ db, input, now, view }) => {
      const user = await requireUserNamed(db, input.username);
      const comment = `${user.name.replace(/\s+/g, " ")} (${new URL(view.base).hostname})`;
      const lines = (await authorizedKeys(db, user.id, now)).map((key) => `${key} ${comment}\n`);
      return new RawReply(200, { "content-type": "text/plain; charset=utf-8" }, lines.join(""));
    },
  }),
  get("/:username.gpg", {
    answersWith: "text/plain",
    summary: "Get the GPG keys of a user, a hundred at most",
    access: "anyone",
    input: { username: param.anyText({ max: 255 }) },
    handle: async ({ db, input }) => {
      const user = await requireUserNamed(db, input.username);
      const texts = (await gpgKeyTexts(db, user.id)).map((text) => `${text}\n`);
      return new RawReply(200, { "content-type": "text/plain; charset=utf-8" }, texts.join(""));
    },
  }),
];
