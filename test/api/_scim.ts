import { type Answer, type CallOptions, type TestApp, testApp } from "../helpers.ts";

/** What a group's identity provider does. */
export interface Provider {
  readonly token: string;
  /** Calls the SCIM API of the group: `ask("GET /Users")`. */
  ask(request: string, json?: object, headers?: Record<string, string>): Promise<Answer>;
  /** Adds a user, by default with `userName` as e-mail address, and returns them. */
  add(user: Record<string, unknown> & { userName: string }): Promise<ScimUser>;
}

/** A user as SCIM shows them. */
export interface ScimUser {
  id: string;
  [name: string]: Answer["json"];
}

/** The schema of PATCH bodies. */
const PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
/** The schema of users. */
export const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
/** The schema of employees. */
export const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/** A PATCH body with these operations. */
export const operations = (...Operations: object[]) => ({ schemas: [PATCH_OP], Operations });

/** The path of a group's SCIM API. */
export const baseOf = (group: string) => `/api/scim/v2/groups/${group}`;

/** A new SCIM token of a group, and calls with it. @param token values of the new token */
export async function providerOf(
  app: Pick<TestApp, "call">,
  group = "acme",
  token: object = {},
): Promise<Provider> {
  const created = await app.call(`POST /groups/${group.replaceAll("/", "%2F")}/scim_tokens`, {
    as: "admin",
    json: { name: "IdP", ...token },
  });
  if (created.status !== 201) throw new Error(`no SCIM token: ${created.status} ${created.text}`);
  const secret = created.json.token as string;
  const ask: Provider["ask"] = (request, json, headers = {}) => {
    const [method, path = ""] = request.split(" ", 2);
    const sent: CallOptions = json === undefined ? {} : { body: JSON.stringify(json) };
    const type = json === undefined ? {} : { "content-type": "application/scim+json" };
    return app.call(`${method} ${baseOf(group)}${path}`, {
      ...sent,
      headers: { authorization: `Bearer ${secret}`, ...type, ...headers },
    });
  };
  return {
    token: secret,
    ask,
    add: async (user) => {
      const { userName } = user;
      const emails = [{ type: "work", primary: true, value: userName }];
      const answer = await ask("POST /Users", { schemas: [USER], emails, ...user });
      if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
      return answer.json;
    },
  };
}

/** An application with a provider for the group `acme`. */
export async function scimApp(
  options: Parameters<typeof testApp>[0] = {},
): Promise<TestApp & Provider> {
  const app = await testApp(options);
  return Object.assign(app, await providerOf(app));
}

/** The query of a filter. */
export const filtered = (filter: string) => `filter=${encodeURIComponent(filter)}`;
