import { bearerOf } from "../auth/request-tokens.ts";
import { type Context, type Resource, routes } from "../core/resource.ts";
import type { Reader } from "../store/port.ts";
import { userInfo } from "./claims.ts";
import { jsonReply, problem, refusal } from "./errors.ts";
import { findActive } from "./inspect.ts";
import { parameter } from "./rules.ts";

const { get, query } = routes();

const input = { access_token: parameter };
type Asked = Context<typeof input, Reader, unknown, "anyone", undefined>;

const EXAMPLE = {
  sub: "1",
  name: "Ada Lovelace",
  nickname: "ada",
  preferred_username: "ada",
  email: "ada@example.com",
  email_verified: true,
  website: "https://ada.example.com",
  profile: "https://pm.example.com/ada",
  picture: "https://pm.example.com/-/avatars/a-12.svg",
  groups: ["acme", "acme/site"],
  "https://gitlab.org/claims/groups/owner": ["acme"],
  "https://gitlab.org/claims/groups/maintainer": ["acme"],
  "https://gitlab.org/claims/groups/developer": ["acme"],
};
/** What is told of everybody. */
const { sub, name, nickname, preferred_username, profile, picture, groups } = EXAMPLE;
const LEAST = { sub, name, nickname, preferred_username, profile, picture, groups };

const declared = {
  access: "anyone",
  input,
  examples: [EXAMPLE, LEAST],
  handle: async ({ db, input, request, view, now }: Asked) => {
    const bearer = bearerOf(request.header("authorization"));
    if (bearer && input.access_token) {
      const description = "Both Authorization header and payload includes access token.";
      throw refusal(problem("invalid_request", description));
    }
    const found = await findActive(db, bearer ?? input.access_token ?? "", now);
    if (!found) throw refusal(problem("invalid_token"));
    const { token, user } = found;
    if (!token.scopes.split(" ").includes("openid")) throw refusal(problem("insufficient_scope"));
    return jsonReply(await userInfo({ db, view, userId: user.id, scopes: token.scopes }));
  },
} as const;

/** What an application may know of the user who has signed in (OpenID Connect Core 1.0 §5.3). */
export const userInfoEndpoint: Resource = {
  name: "OpenID Connect",
  migrations: [],
  routes: [
    get("/oauth/userinfo", {
      summary: "Get who has signed in, with a token of the scope `openid`",
      ...declared,
    }),
    query("/oauth/userinfo", {
      summary: "Get who has signed in, by POST",
      ...declared,
    }),
  ],
};
