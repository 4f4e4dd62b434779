import type { Reader } from "../../store/port.ts";

/** The column of whether nobody is mailed about a group or project; `undefined` if it stays as it is. */
export function emailsDisabled(input: {
  emails_enabled?: boolean | undefined;
  emails_disabled?: boolean | undefined;
}): number | undefined {
  const { emails_disabled: isOff, emails_enabled: isOn } = input;
  if (isOn !== undefined) return Number(!isOn);
  return isOff === undefined ? undefined : Number(isOff);
}

/** Whether somebody may be mailed about a project: neither it nor a group above it has mails disabled. */
export async function sendsMails(db: Reader, projectId: number): Promise<boolean> {
  const off = await db.rows(
    `select 1 from projects where id = ? and emails_disabled = 1
     union all
     select 1 from projects p join namespace_ancestors a on a.namespace_id = p.namespace_id
       join namespaces n on n.id = a.ancestor_id where p.id = ? and n.emails_disabled = 1
     limit 1`,
    [projectId, projectId],
  );
  return off.length === 0;
}
