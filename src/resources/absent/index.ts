import type { Role } from "../../core/access/roles.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes, type SourceKind } from "../../core/resource.ts";

/** A list of what groups or projects of GitLab have, and who may read it there. */
interface Absent {
  readonly source: SourceKind;
  readonly path: string;
  readonly what: string;
  readonly role: Role;
  /** The columns of an entry in GitLab that are texts. */
  readonly fields: readonly string[];
  /** What the path names. */
  readonly input?: Readonly<Record<string, param.Attribute<string>>>;
}

const CLUSTER = ["name", "provider_type", "platform_type", "environment_scope", "domain"];

const ABSENT: readonly Absent[] = [
  ...(["group", "project"] as const).flatMap((source): Absent[] => [
    { source, path: "/clusters", role: "maintainer", fields: CLUSTER, what: "Kubernetes clusters" },
  ]),
  {
    ...{ source: "project", path: "/cluster_agents", role: "developer", fields: ["name"] },
    what: "agents for Kubernetes",
  },
  {
    ...{ source: "group", path: "/ldap_group_links", role: "owner", fields: ["cn", "provider"] },
    what: "links with groups of LDAP",
  },
  {
    ...{ source: "group", path: "/saml_group_links", role: "owner", fields: ["name", "provider"] },
    what: "links with groups of SAML",
  },
  {
    ...{ source: "group", path: "/enterprise_users", role: "owner", fields: ["username", "name"] },
    what: "enterprise users",
  },
  // Those of enterprise users.
  ...(["personal_access_tokens", "ssh_keys"] as const).map(
    (kind): Absent => ({
      ...{ source: "group", path: `/manage/${kind}`, role: "owner", fields: [] },
      what: `${kind === "ssh_keys" ? "SSH keys" : "personal access tokens"} of the enterprise users`,
    }),
  ),
  {
    ...{ source: "group", path: "/ssh_certificates", role: "owner", fields: ["title", "key"] },
    what: "authorities that sign SSH keys",
  },
  {
    ...{ source: "group", path: "/uploads", role: "maintainer", fields: ["filename"] },
    what: "uploads",
  },
  {
    ...{ source: "project", path: "/vulnerabilities", role: "developer" },
    fields: ["title", "description", "state", "severity", "confidence", "report_type"],
    what: "vulnerabilities",
  },
  {
    ...{ source: "project", path: "/attestations/:subject_digest", role: "reporter" },
    fields: ["predicate_kind", "predicate_type", "subject_digest"],
    what: "attestations of an artifact",
    input: { subject_digest: param.anyText({ max: 255 }) },
  },
];

/** What answers with an empty list. @param fields the columns of an entry in GitLab that are texts */
const nothing = (fields: readonly string[]) => ({
  presenter: presenter({
    id: field.integer("id"),
    ...Object.fromEntries(fields.map((name) => [name, field.text(name)])),
  }),
  handle: () => ({ rows: [], hasNext: false, total: 0 }),
});

/**
 * Lists that programs read while they go through groups and projects, of what this server does not have: they are empty, since
 * a 404 ends such a loop.
 */
export const absentResource: Resource = {
  name: "Absent",
  migrations: [],
  routes: [
    ...ABSENT.map(({ source, path, what, role, fields, input = {} }) =>
      routes({ source }).list(path, {
        summary: `List the ${what} of a ${source}: there are none`,
        role,
        input,
        ...nothing(fields),
      }),
    ),
  ],
};
