import { findSource } from "../../core/access/source.ts";
import { conflict, forbidden, invalid, notFound } from "../../core/errors.ts";
import { type Context, hasTier } from "../../core/resource.ts";
import { mayAdminIssues } from "../issuables/abilities.ts";
import { ISSUE } from "../issuables/issue.ts";
import type { Issuable } from "../issuables/queries.ts";
import { findIssuable } from "../issuables/rules.ts";
import type { Writing } from "../issuables/type.ts";
import * as links from "./queries.ts";

/**
 * Links an issue with another one, both of which the caller may change as a reporter. The caller's role in the first
 * one's project has been checked.
 *
 * @param other the other issue: the id or path of its project, and its number
 * @throws ApiError 404 if the caller can't see the other issue, 403 if they may not change it or the tier has no such
 *   links, 409 if the two are linked, 400 if they are the same
 */
export async function link(
  context: Pick<Writing, "db" | "viewer" | "now"> & Pick<Context, "tier">,
  issue: Pick<Issuable, "id">,
  other: { project: string; iid: number },
  type: links.LinkType,
): Promise<links.IssueLink> {
  const { db, viewer, now, tier } = context;
  const source = await findSource(db, "project", other.project, viewer);
  const found = await findIssuable({ db, source, viewer }, ISSUE, other.iid);
  if (!mayAdminIssues(source)) throw forbidden();
  if (type !== "relates_to" && !hasTier(tier, "premium")) {
    throw forbidden("Blocked issues not available for current license");
  }
  if (found.id === issue.id) throw invalid({ source: ["cannot be related to itself"] });
  if (await links.areLinked(db, issue.id, found.id)) throw conflict("Issue(s) already assigned");
  return links.insert(db, issue.id, found.id, type, now);
}

/**
 * Removes a link of an issue. The caller's role in the issue's project has been checked.
 *
 * @returns the removed link
 * @throws ApiError 404 if there is no such link or the caller can't see the other issue, 403 if they may not change it
 */
export async function unlink(
  { db, viewer }: Pick<Writing, "db" | "viewer">,
  issue: Pick<Issuable, "id">,
  linkId: number,
): Promise<links.IssueLink> {
  const found = await links.find(db, issue.id, linkId, viewer);
  if (!found) throw notFound();
  const other = await findSource(db, "project", String(found.other_project_id), viewer);
  if (!mayAdminIssues(other)) throw forbidden();
  await links.remove(db, found.id);
  return found;
}
