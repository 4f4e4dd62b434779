import { type Source, sourcesById } from "../../core/access/source.ts";
import { dayOf } from "../../core/time.ts";
import { among } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { reaches } from "./abilities.ts";

/** The `failure_reason` of a job whose user may not deploy to its environment, and of one that somebody has rejected. */
export const PROTECTED = "protected_environment_failure";
export const REJECTED = "deployment_rejected";

/** What a grant of a protected environment lets do. */
export type EnvironmentRight = "deploy" | "approve";

/** A grant of a protected environment, and whether somebody has it. */
export interface HeldGrant {
  readonly id: number;
  readonly environment_id: number;
  readonly action: EnvironmentRight;
  readonly required_approvals: number;
  readonly isHeld: boolean;
}

type Grant = Omit<HeldGrant, "isHeld"> & {
  readonly access_level: number | null;
  readonly user_id: number | null;
  readonly in_group: number;
};

/**
 * The grants of protected environments, and which of them somebody has: administrators have all.
 *
 * @param source the project, found for whom it is asked
 */
export async function grantsFor(
  db: Reader,
  source: Pick<Source, "viewer" | "level">,
  protectionIds: readonly number[],
): Promise<HeldGrant[]> {
  const { caller, today } = source.viewer;
  const these = among("g.environment_id", protectionIds);
  const grants = await db.all<Grant>(
    `select g.id, g.environment_id, g.action, g.required_approvals, g.access_level, g.user_id,
       case when exists (select 1 from members m where m.user_id = ? and (m.expires_at is null or m.expires_at > ?)
         and (m.namespace_id = g.group_id or (g.group_inheritance_type = 1 and m.namespace_id in (
           select ancestor_id from namespace_ancestors where namespace_id = g.group_id))))
       then 1 else 0 end as in_group
     from environment_grants g where ${these.sql} order by g.id`,
    [caller?.id ?? 0, today, ...these.values],
  );
  return grants.map(({ access_level: level, user_id, in_group, ...grant }) => {
    const isNamed = in_group === 1 || (user_id !== null && user_id === caller?.id);
    const isHeld = caller?.admin === true || isNamed || reaches(source, level);
    return { ...grant, isHeld };
  });
}

/** Whether grants let somebody deploy: each protection of an environment has to. */
const letDeploy = (protectionIds: readonly number[], grants: readonly HeldGrant[]): boolean =>
  protectionIds.every((id) =>
    grants.some((one) => one.environment_id === id && one.action === "deploy" && one.isHeld),
  );

/**
 * The protections of an environment: its project's, by its name, and those of the groups above, by its tier.
 *
 * @param tier `undefined` for an environment that is not there yet
 */
async function protectionsOf(
  db: Reader,
  { id, namespaceId }: Pick<Source, "id" | "namespaceId">,
  { name, tier }: { readonly name: string; readonly tier: string | undefined },
): Promise<number[]> {
  const rows = await db.rows(
    `select id from protected_environments where project_id = ? and name = ?
     union all select pe.id from namespace_ancestors a
       join protected_environments pe on pe.namespace_id = a.ancestor_id and pe.name = ?
     where a.namespace_id = ?`,
    [id, name, tier ?? "", namespaceId],
  );
  return rows.map(([found]) => found as number);
}

/** Whether an environment is protected. @param tier as in {@link protectionsOf} */
export const isProtected = async (...of: Parameters<typeof protectionsOf>): Promise<boolean> =>
  (await protectionsOf(...of)).length > 0;

/** Whether whoever a project was found for may deploy to one of its environments, and stop it. */
export async function mayDeployTo(
  db: Reader,
  source: Source,
  environment: { readonly name: string; readonly tier: string | undefined },
): Promise<boolean> {
  const protections = await protectionsOf(db, source, environment);
  if (protections.length === 0) return true;
  return letDeploy(protections, await grantsFor(db, source, protections));
}

/** A job whose environment is protected. */
interface ProtectedJob {
  readonly id: number;
  readonly project_id: number;
  readonly user_id: number | null;
  readonly deployment_id: number | null;
  readonly protection_id: number;
}

/** The jobs among some whose environments are protected, once for each protection. */
function protectedAmong(db: Reader, jobIds: readonly number[]) {
  const these = among("cj.id", jobIds);
  const columns = "cj.id, cj.project_id, cj.user_id, d.id as deployment_id, pe.id as protection_id";
  return db.all<ProtectedJob>(
    `select ${columns} from ci_jobs cj
       join protected_environments pe on pe.project_id = cj.project_id and pe.name = cj.environment
       left join deployments d on d.job_id = cj.id where ${these.sql}
     union all select ${columns} from ci_jobs cj join projects p on p.id = cj.project_id
       join environments e on e.project_id = cj.project_id and e.name = cj.environment
       join namespace_ancestors a on a.namespace_id = p.namespace_id
       join protected_environments pe on pe.namespace_id = a.ancestor_id and pe.name = e.tier
       left join deployments d on d.job_id = cj.id where ${these.sql}`,
    [...these.values, ...these.values],
  );
}

/** What keeps a job from starting: nobody may let it, or it waits for approvals. */
export type Gate = "refused" | "blocked";

/**
 * What protected environments keep jobs from starting, by the ids of the jobs.
 *
 * @param userId for whom they are to start; `undefined` for whom they were made
 */
export async function environmentGates(
  db: Reader,
  jobIds: readonly number[],
  userId: number | undefined,
  now: number,
): Promise<Map<number, Gate>> {
  const gates = new Map<number, Gate>();
  if (jobIds.length === 0) return gates;
  const rows = await protectedAmong(db, jobIds);
  for (const id of new Set(rows.map((row) => row.id))) {
    const own = rows.filter((row) => row.id === id);
    const [{ project_id, user_id, deployment_id }] = own as [ProtectedJob];
    const source = await sourceFor(db, project_id, userId ?? user_id, now);
    const protections = own.map((row) => row.protection_id);
    const grants = source ? await grantsFor(db, source, protections) : [];
    if (!letDeploy(protections, grants)) gates.set(id, "refused");
    else if (deployment_id !== null && (await missingApprovals(db, deployment_id, grants)) > 0) {
      gates.set(id, "blocked");
    }
  }
  return gates;
}

/** A project as one of its people sees it; `undefined` if they are gone or blocked. */
async function sourceFor(
  db: Reader,
  projectId: number,
  userId: number | null,
  now: number,
): Promise<Source | undefined> {
  const user = await db.one<{ id: number; username: string; admin: number; external: number }>(
    "select id, username, admin, external from users where id = ? and state = 'active'",
    [userId],
  );
  if (!user) return undefined;
  const caller = { ...user, admin: user.admin === 1, external: user.external === 1 };
  const viewer = { caller, today: dayOf(now) };
  return (await sourcesById(db, "project", [projectId], viewer)).get(projectId);
}

/** An approval of a deployment. */
export interface DeploymentApproval {
  readonly user_id: number;
  readonly grant_id: number | null;
  readonly status: "approved" | "rejected";
}

/** What people have said of a deployment. */
export async function approvalsOf(db: Reader, deploymentId: number): Promise<DeploymentApproval[]> {
  return db.all<DeploymentApproval>(
    "select user_id, grant_id, status from deployment_approvals where deployment_id = ? order by id",
    [deploymentId],
  );
}

/** How many approvals a rule still needs. */
export const missingOf = (
  { id, required_approvals }: Pick<HeldGrant, "id" | "required_approvals">,
  approvals: readonly DeploymentApproval[],
): number =>
  Math.max(
    0,
    required_approvals -
      approvals.filter(({ grant_id, status }) => grant_id === id && status === "approved").length,
  );

/** How many approvals a deployment still needs by the rules among some grants. */
async function missingApprovals(
  db: Reader,
  deploymentId: number,
  grants: readonly HeldGrant[],
): Promise<number> {
  const rules = grants.filter(({ action }) => action === "approve");
  if (rules.length === 0) return 0;
  const approvals = await approvalsOf(db, deploymentId);
  return rules.reduce((sum, rule) => sum + missingOf(rule, approvals), 0);
}
