import { invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { hasTier, routes } from "../../core/resource.ts";
import { insertRow } from "../../store/insert.ts";
import { fits } from "../protected-refs/wildcards.ts";

/** How many rules a project can have: all of them are looked at when a merge request says no target. */
const MAX_RULES = 100;

/** What GitLab takes for the name of a rule: of branches, with `*` for any characters. */
const NAME = /^[a-z0-9/._\-*]+$/;

const rule = presenter({ id: field.integer("tbr.id") });

const projects = routes({ source: "project", features: ["merge_requests"] });
const tier = "premium";

/** Adds a rule to a project. */
export const addRuleRoute = projects.post("/target_branch_rules", {
  summary: "Say where new merge requests of some branches lead",
  tier,
  role: "maintainer",
  input: { name: param.text({ max: 255 }), target_branch: param.text({ max: 255 }) },
  presenter: rule,
  handle: async ({ db, source, input, now }) => {
    // As in GitLab, which then compares it with names of branches as they are.
    const name = input.name.trim().toLowerCase();
    if (!NAME.test(name) || name.includes("../")) throw invalid({ name: ["is invalid"] });
    const known = await db.rows("select name from target_branch_rules where project_id = ?", [
      source.id,
    ]);
    if (known.some(([one]) => one === name)) throw invalid({ name: ["has already been taken"] });
    if (known.length >= MAX_RULES) {
      throw invalid({ base: [`There are ${MAX_RULES} target branch rules already`] });
    }
    const columns = { project_id: source.id, name, target_branch: input.target_branch };
    return [await insertRow(db, "target_branch_rules", { ...columns, created_at: now })];
  },
});

/** Removes a rule of a project. */
export const removeRuleRoute = projects.del("/target_branch_rules/:rule_id", {
  summary: "Remove a rule about the targets of merge requests",
  tier,
  role: "maintainer",
  input: { rule_id: param.recordId() },
  handle: async ({ db, source, input }) => {
    const sql = "delete from target_branch_rules where id = ? and project_id = ?";
    if ((await db.run(sql, [input.rule_id, source.id])) === 0) throw notFound();
    return undefined;
  },
});

/**
 * Which branch of a project a new merge request from a branch leads into, unless it says so: that of the first rule which fits,
 * or else the project's default branch. For pages and pushes, since REST and GraphQL ask for the target.
 */
export const targetRoute = projects.get("/target_branch", {
  summary: "Find where a new merge request of a branch leads",
  access: "anyone",
  input: { source_branch: param.anyText({ max: 1024 }) },
  presenter: presenter({ target_branch: field.text("tbr.target_branch") }),
  handle: async ({ db, source, input, tier: current }) => {
    const rules = hasTier(current, tier)
      ? await db.rows(
          "select name, target_branch from target_branch_rules where project_id = ? order by id",
          [source.id],
        )
      : [];
    const [, found] = rules.find(([name]) => fits(String(name), input.source_branch)) ?? [];
    if (found !== undefined) return [found];
    const [project] = await db.rows("select default_branch from projects where id = ?", [
      source.id,
    ]);
    return [project?.[0] ?? null];
  },
});
