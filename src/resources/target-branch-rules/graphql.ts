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
import { addRuleRoute, removeRuleRoute } from "./index.ts";

const rule = rowType("ProjectTargetBranchRule", {
  about: "Which branch new merge requests of some branches lead into, unless they say it.",
  from: "target_branch_rules tr join projects p on p.id = tr.project_id",
  key: "tr.id",
  visible: (viewer: Viewer) =>
    all([visibleProjects(viewer), usesFeature(viewer, "merge_requests")]),
  fields: {
    id: gid("ProjectTargetBranchRule", "tr.id", "Projects::TargetBranchRule"),
    name: required(string("tr.name")),
    targetBranch: required(string("tr.target_branch")),
    createdAt: required(time("tr.created_at")),
  },
});

const ruleId = arg.gid("ProjectTargetBranchRule", ["Projects::TargetBranchRule"]);

/** Rules about the targets of merge requests. */
export const graphqlModule: GraphqlModule = {
  types: [rule],
  extend: {
    Project: {
      targetBranchRules: connection("ProjectTargetBranchRule", {
        query: () => ({ parent: "tr.project_id", order: [{ sql: "tr.id" }] }),
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
