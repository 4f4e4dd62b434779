import type { Source } from "../../core/access/source.ts";
import { type Page, pageOf, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { sealerFor } from "../../core/sealed.ts";
import type { Secrets } from "../../core/secrets.ts";
import { HOOK_TRIGGERS, maskOf } from "../../hooks/events.ts";
import { INTEGRATION_EVENTS, type Integration } from "../../hooks/integrations/catalogue.ts";
import { among } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import {
  INTEGRATION_COLUMNS,
  purposeOfIntegration,
  type StoredIntegration,
} from "../hooks/integrations.ts";
import * as hooks from "../hooks/queries.ts";

type Owner = Pick<Source, "kind" | "column" | "id" | "namespaceId">;

/** An integration that counts for a group or project. */
interface Counting {
  readonly id: number;
  readonly slug: string;
  readonly active: number;
  /** 0 for the project's own, or how far above the group is, and one. */
  readonly distance: number;
}

/** The integrations of a group or project by their slugs: its own, or those of the nearest group above. */
async function countingFor(
  db: Reader,
  { kind, id, namespaceId }: Owner,
  slug?: string,
): Promise<Map<string, Counting>> {
  const only = slug === undefined ? "" : "and ig.slug = ?";
  const asked = slug === undefined ? [] : [slug];
  const found = await db.all<Counting>(
    `select ig.id, ig.slug, ig.active, a.depth + 1 as distance
     from namespace_ancestors a join integrations ig on ig.namespace_id = a.ancestor_id
     where a.namespace_id = ? ${only}
     union all select ig.id, ig.slug, ig.active, 0 from integrations ig where ig.project_id = ? ${only}`,
    [namespaceId, ...asked, kind === "project" ? id : 0, ...asked],
  );
  const nearest = new Map<string, Counting>();
  for (const one of found) {
    const other = nearest.get(one.slug);
    if (!other || one.distance < other.distance) nearest.set(one.slug, one);
  }
  return nearest;
}

/** Whether an integration is that of a group above. */
const isInherited = ({ kind }: Owner, { distance }: Counting) =>
  distance > (kind === "project" ? 0 : 1);

async function rowsOf(
  db: Reader,
  shown: Presenter,
  owner: Owner,
  counting: readonly Counting[],
): Promise<Value[][]> {
  if (counting.length === 0) return [];
  const wanted = among(
    "ig.id",
    counting.map(({ id }) => id),
  );
  const rows = await db.rows(
    `select ${shown.columns} from integrations ig where ${wanted.sql} order by ig.id`,
    wanted.values,
  );
  const inherited = new Map(counting.map((one) => [one.id, isInherited(owner, one)]));
  for (const row of rows) {
    row[shown.at("inherited")] = Number(inherited.get(row[shown.at("id")] as number));
  }
  return rows;
}

/** The active integrations of a group or project, with those of groups above, oldest first. There are few. */
export async function list(
  db: Reader,
  shown: Presenter,
  page: Page,
  owner: Owner,
): Promise<RowPage> {
  const active = [...(await countingFor(db, owner)).values()]
    .filter((one) => one.active === 1)
    .sort((a, b) => a.id - b.id);
  return pageOf(page, active.length, (from, to) =>
    rowsOf(db, shown, owner, active.slice(from, to)),
  );
}

/** The integration of a group or project, or of a group above, as a row of its presenter; or `undefined`. */
export async function row(
  db: Reader,
  shown: Presenter,
  owner: Owner,
  slug: string,
): Promise<Value[] | undefined> {
  return (await rowsOf(db, shown, owner, [...(await countingFor(db, owner, slug)).values()]))[0];
}

/** Whether a group or project has an integration, or a group above. */
export const isThere = async (db: Reader, owner: Owner, slug: string) =>
  (await countingFor(db, owner, slug)).size > 0;

/** The integration of a group or project itself, or `undefined`. */
export function findOwn(
  db: Reader,
  { column, id }: Owner,
  slug: string,
): Awaitable<StoredIntegration | undefined> {
  return db.one<StoredIntegration>(
    `select ${INTEGRATION_COLUMNS} from integrations ig where ig.${column} = ? and ig.slug = ?`,
    [id, slug],
  );
}

/** What an integration is to be. */
export interface Wanted {
  readonly slug: string;
  readonly integration: Integration;
  readonly isActive: boolean;
  /** See `INTEGRATION_EVENTS`. */
  readonly events: number;
  /** With its secrets; null for those that are to be as at the beginning. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** The address at which it is set up: links in messages begin with it if the application has none of its own. */
  readonly base: string;
}

/**
 * Stores an integration of a group or project, and the hook by which it is told of what happens.
 *
 * @param before what is there
 * @throws SecretKeyError if it has secrets, and there is no key
 */
export async function store(
  db: Database,
  secrets: Secrets,
  owner: Owner,
  before: StoredIntegration | undefined,
  wanted: Wanted,
  now: number,
): Promise<void> {
  const { slug, integration, isActive, events, settings, base } = wanted;
  const given = Object.entries(settings).filter(([, value]) => value !== null);
  const isSecret = ([name]: [string, unknown]) => integration.properties[name]?.secret === true;
  const open = Object.fromEntries(given.filter((one) => !isSecret(one)));
  const hidden = Object.fromEntries(given.filter(isSecret));
  const columns = { active: Number(isActive), events, properties: JSON.stringify(open) };
  const id =
    before?.id ??
    (await insertRow(db, "integrations", {
      [owner.column]: owner.id,
      slug,
      ...columns,
      created_at: now,
      updated_at: now,
    }));
  let sealed: string | null = null;
  if (Object.keys(hidden).length > 0) {
    const seal = await sealerFor(db, secrets);
    sealed = seal(JSON.stringify(hidden), purposeOfIntegration(id));
  }
  await updateRow(db, "integrations", id, { ...columns, secrets: sealed }, now);
  if (!integration.sender) return;
  await storeHook(
    db,
    owner,
    { id, integration, events: isActive ? events : 0, base },
    settings,
    now,
  );
}

/** Lets the hook of an integration listen for its events, and forgets what failed before. */
async function storeHook(
  db: Database,
  owner: Owner,
  {
    id,
    integration,
    events,
    base,
  }: Pick<Wanted, "integration" | "base"> & { id: number; events: number },
  settings: Wanted["settings"],
  now: number,
): Promise<void> {
  const names: readonly string[] = INTEGRATION_EVENTS;
  const own: readonly string[] = integration.events;
  const heard = HOOK_TRIGGERS.filter((trigger) => {
    const name = `${trigger}_events`;
    return own.includes(name) && ((events >> names.indexOf(name)) & 1) === 1;
  });
  const { enable_ssl_verification: verified } = integration.properties;
  const isTrusted = settings["enable_ssl_verification"] === false && !verified?.kept;
  const columns = {
    events: maskOf(heard),
    enable_ssl_verification: Number(!isTrusted),
    failures: 0,
    disabled_until: null,
  };
  const [found] = await db.rows("select id from hooks where integration_id = ?", [id]);
  if (found) await updateRow(db, "hooks", found[0] as number, columns, now);
  else await hooks.insert(db, owner, { ...columns, url: "", integration_id: id, base }, now);
}

/** Lets a group or project have the integration of a group above, if there is one. */
export async function inherit(db: Database, owner: Owner, slug: string): Promise<void> {
  await db.run(
    `delete from integrations where ${owner.column} = ? and slug = ? and exists (
       select 1 from namespace_ancestors a join integrations o on o.namespace_id = a.ancestor_id
       where a.namespace_id = ? and a.depth >= ? and o.slug = ?)`,
    [owner.id, slug, owner.namespaceId, owner.kind === "project" ? 0 : 1, slug],
  );
}
