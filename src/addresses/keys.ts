import * as param from "../core/input.ts";
import { RawReply, type Route, routes } from "../core/resource.ts";
import { authorizedKeys } from "../resources/keys/queries.ts";
import { requireUserNamed } from "../resources/users/rules.ts";

const { get } = routes();

/** The address of a user's keys, which servers are set up with. */
export const keyAddresses: readonly Route[] = [
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
];
