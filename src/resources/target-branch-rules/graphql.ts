import { usesFeature, type Viewer, visibleProjects } from "../../core/access/visibility.ts";
import {
  arg,
  connection,
  type GraphqlModule,
  gid,
  mutation,
  notAvailable,
  property,
  required,
  rowType,
  string,
  time,
} from "../../graphql/declare.ts";
import { all } from "../../store/conditions.ts";
import { addRuleRoute, removeRuleRoute } from "./actions.ts";

const rule = rowType("ProjectTargetBranchRule", {
  about: "Which branch new merge requests of some branches lead into, unless they say it.",
  from: "target_branch_rules tbr join projects p on p.id = tbr.project_id",
  key: "tbr.id",
  visible: (viewer: Viewer) =>
    all([visibleProjects(viewer), usesFeature(viewer, "merge_requests")]),
  fields: {
    id: gid("ProjectTargetBranchRule", "tbr.id", "Projects::TargetBranchRule"),
    name: required(string("tbr.name")),
    targetBranch: required(string("tbr.target_branch")),
    createdAt: required(time("tbr.created_at")),
  },
});

const ruleId = arg.gid("ProjectTargetBranchRule", ["Projects::TargetBranchRule"]);

/** Rules about the targets of merge requests. */
export const graphqlModule: GraphqlModule = {
  types: [rule],
  extend: {
    Project: {
      targetBranchRules: connection("ProjectTargetBranchRule", {
        isSmall: true,
        query: () => ({ parent: "tbr.project_id", order: [{ sql: "tbr.id" }] }),
      }),
    },
  },
  mutations: {
    projectTargetBranchRuleCreate: mutation({
      about: "Say where new merge requests of some branches lead.",
      input: {
        projectId: arg.required(arg.gid("Project")),
        name: arg.required(arg.string),
        targetBranch: arg.required(arg.string),
      },
      payload: { targetBranchRule: property("ProjectTargetBranchRule") },
      run: async ({ projectId: id, name, targetBranch: target_branch }, { call }) => {
        const made = await call(addRuleRoute, { id, name, target_branch });
        return { targetBranchRule: made["id"] };
      },
    }),
    projectTargetBranchRuleDestroy: mutation({
      about: "Remove a rule about the targets of merge requests.",
      input: { id: arg.required(ruleId) },
      payload: {},
      run: async ({ id: rule_id }, { call, db }) => {
        const [found] = await db.rows("select project_id from target_branch_rules where id = ?", [
          rule_id,
        ]);
        if (!found) throw notAvailable();
        await call(removeRuleRoute, { id: found[0], rule_id });
        return {};
      },
    }),
  },
};
