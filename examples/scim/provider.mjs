import { createApp } from "pm-api";

const pm = await createApp({ database: ":memory:", url: "https://pm.example.com" });
await pm.admin.groups.create({ path: "acme", name: "Acme" });
const { token, scim_url } = await pm.admin.scimTokens.create({
  group: "acme",
  name: "Example",
  role: "developer",
});

/** Calls the group's SCIM API; a server would be called with fetch. */
async function scim(method, path, body) {
  const response = await pm.fetch(`${scim_url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/scim+json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, ...(text && { user: JSON.parse(text) }) };
}

const filter = encodeURIComponent('userName eq "ada@example.com"');
const found = await scim("GET", `/Users?filter=${filter}`);
console.log(found.status, `${found.user.totalResults} found`);

const created = await scim("POST", "/Users", {
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
  userName: "ada@example.com",
  externalId: "00u1",
  name: { givenName: "Ada", familyName: "Lovelace" },
  emails: [{ type: "work", primary: true, value: "ada@example.com" }],
});
const [member] = await pm.admin.members.list({ group: "acme" });
console.log(created.status, `${member.name} is a ${member.role}`);

const operations = [
  { op: "replace", path: "title", value: "Countess" },
  { op: "replace", path: "active", value: false },
];
const changed = await scim("PATCH", `/Users/${created.user.id}`, {
  schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
  Operations: operations,
});
const left = await pm.admin.members.list({ group: "acme" });
console.log(changed.status, changed.user.title, `${left.length} members`);

const removed = await scim("DELETE", `/Users/${created.user.id}`);
console.log(removed.status);

await pm.close();
