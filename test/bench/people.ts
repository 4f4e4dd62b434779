import { join } from "node:path";
import { createApp } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import type { Where } from "./events.ts";
import type { Operation } from "./operations.ts";
import { CALLER } from "./seed.ts";

/** People of the group whose identity provider is measured. */
const PEOPLE = 100_000;

const FILTER = encodeURIComponent('userName eq "PERSON54321@example.com"');

/** What an identity provider looks up among them. */
export const PEOPLE_OPERATIONS: readonly Operation[] = [
  {
    name: "a SCIM look-up among 100,000 people",
    method: "GET",
    base: "/api/scim/v2",
    path: `/groups/acme/Users?filter=${FILTER}`,
    floor: 0.4,
  },
];

/**
 * Creates a database with a group that has many people, each with an e-mail address.
 *
 * @returns the file, and the header that authenticates the group's identity provider
 */
export async function withPeople(
  { folder, say }: Where,
  people = PEOPLE,
): Promise<{ file: string; authorization: string }> {
  say(`seeding ${people} people…`);
  const file = join(folder, "people.db");
  const app = await createApp({ database: file, background: false });
  await app.admin.seed({
    users: [{ username: CALLER.username, tokens: [{ token: CALLER.token }] }],
    groups: [{ path: "acme" }],
  });
  const { token } = await app.admin.scimTokens.create({ group: "acme", name: "Bench" });
  await app.close();
  const store = await openStore(file);
  await store.transaction(async (db) => {
    const [group] = await db.rows("select id from namespaces where full_path = 'acme'");
    const id = group?.[0] as number;
    await db.run(
      `insert into users (username, name, email, created_at, updated_at)
       with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ?)
       select 'person' || n, 'Person ' || n, 'person' || n || '@example.com', 0, 0 from numbers`,
      [people],
    );
    await db.run(
      `insert into scim_users (uid, namespace_id, user_id, provisioned, external_id, user_name, active, given_name,
         family_name, display_name, created_at, updated_at)
       select 'uid-' || u.id, ?, u.id, 1, 'external-' || u.id, u.email, 1, 'Person', u.username, u.name, 0, 0
       from users u where u.username like 'person%'`,
      [id],
    );
    await db.run(
      `insert into scim_values (scim_user_id, namespace_id, attribute, position, type, is_primary, value)
       select s.id, s.namespace_id, 'emails', 0, 'work', 1, s.user_name from scim_users s`,
    );
  });
  await store.close();
  return { file, authorization: `Bearer ${token}` };
}
