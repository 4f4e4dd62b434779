// Determines which columns are never null, from the schema created by the migrations.
import { allResources } from "../../src/mounts.ts";
import { migrate } from "../../src/store/migrate.ts";
import { openStore } from "../../src/store/open.ts";

/** Aliases of tables in queries. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  a: ["audit_events", "oauth_applications"],
  ar: ["approval_rules", "access_requests"],
  ae: ["award_emoji"],
  b: ["boards", "badges"],
  bf: ["bulk_import_failures"],
  bi: ["bulk_imports"],
  bie: ["bulk_import_entities"],
  bl: ["board_lists"],
  ap: ["appearances"],
  pn: ["plan_limits"],
  mei: ["metric_images"],
  ss: ["project_security_settings"],
  ua: ["user_agents"],
  pa: ["project_aliases"],
  pp: ["protection_rules"],
  sf: ["secure_files"],
  sd: ["site_domains"],
  cr: ["container_repositories"],
  ct: ["container_tags"],
  cm: ["container_manifests"],
  mbr: ["member_roles"],
  bm: ["broadcast_messages"],
  fe: ["features"],
  tp: ["topics"],
  tc: ["topic_counts"],
  ca: ["custom_attributes"],
  cb: ["users"],
  cj: ["ci_jobs"],
  d: ["dependencies"],
  de: ["dependency_list_exports"],
  dk: ["deploy_keys"],
  dn: ["draft_notes"],
  dp: ["deployments"],
  dw: ["pipelines"],
  dwp: ["projects"],
  dt: ["deploy_tokens"],
  e: ["events"],
  ed: ["epic_details"],
  en: ["environments"],
  g: ["protection_grants"],
  h: ["hooks", "work_item_parents"],
  hd: ["hook_deliveries"],
  i: ["issues"],
  ig: ["integrations"],
  gk: ["gpg_keys"],
  k: ["ssh_keys"],
  l: ["labels", "group_links"],
  m: ["milestones", "members"],
  mb: ["users"],
  mr: ["merge_requests"],
  n: ["namespaces"],
  gn: ["namespaces"],
  np: ["note_positions"],
  nt: ["notes"],
  nu: ["users"],
  p: ["projects"],
  pl: ["pipelines"],
  pr: ["protected_branches", "protected_tags"],
  rb: ["users", "resource_bots"],
  rm: ["runner_managers"],
  rn: ["runners"],
  pf: ["package_files"],
  pk: ["packages"],
  pt: ["package_tags"],
  pu: ["push_rules"],
  fp: ["freeze_periods"],
  rg: ["resource_groups"],
  mt: ["merge_train_cars"],
  mq: ["merge_request_blocks"],
  own: ["merge_requests"],
  pe: ["protected_environments"],
  eg: ["environment_grants"],
  da: ["deployment_approvals"],
  r: ["releases"],
  rk: ["release_links"],
  evd: ["release_evidences"],
  rv: ["merge_request_reviewers"],
  re: [
    "resource_label_events",
    "resource_milestone_events",
    "resource_state_events",
    "resource_iteration_events",
    "resource_weight_events",
  ],
  s: ["snippets"],
  sc: ["pipeline_schedules"],
  sa: ["service_accounts"],
  sr: ["approval_rules"],
  st: ["scim_tokens"],
  su: ["scim_users"],
  t: ["tokens"],
  td: ["todos"],
  tbr: ["target_branch_rules"],
  tr: ["pipeline_triggers"],
  u: ["users"],
  uf: ["user_follows"],
  us: ["user_statuses"],
  pre: ["user_preferences"],
  v: ["users", "ci_variables"],
  up: ["project_uploads"],
  ue: ["user_emails"],
  ff: ["feature_flags"],
  fu: ["feature_flag_user_lists"],
  mir: ["remote_mirrors"],
  pum: ["pull_mirrors"],
  mi: ["member_invitations"],
  w: ["wiki_pages"],
  x: ["issue_links", "merge_request_issues"],
};

const store = await openStore(":memory:");
await migrate(
  store,
  allResources.flatMap(({ migrations }) => migrations),
  0,
);
const tables = new Map<string, Map<string, boolean>>();
for (const { name } of await store.all<{ name: string }>(
  "select name from sqlite_schema where type = 'table'",
)) {
  const columns = await store.all<{ name: string; notnull: number; pk: number }>(
    `pragma table_info(${name})`,
  );
  tables.set(name, new Map(columns.map((column) => [column.name, column.notnull + column.pk > 0])));
}
await store.close();

/** Whether a query's column, as presenters name it, is never null if its table's row exists. */
export function isFilled(column: string): boolean {
  if (/^coalesce\(.*, '[^']*'\)$/.test(column) || column.startsWith("(select count(")) return true;
  const [, alias = "", name = ""] = /^(\w+)\.(\w+)$/.exec(column) ?? [];
  const known = (TABLES[alias] ?? []).flatMap((table) => tables.get(table)?.get(name) ?? []);
  return known.length > 0 && known.every(Boolean);
}

/** Tables named here that don't exist. */
export const unknownTables = Object.values(TABLES)
  .flat()
  .filter((table) => !tables.has(table));
