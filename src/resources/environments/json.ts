import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { job } from "../ci/json.ts";
import { basicProject } from "../projects/json.ts";
import { userSummaryFields } from "../users/json.ts";

/** What an environment has everywhere. */
export const basicEnvironmentFields = {
  id: field.integer("en.id"),
  name: field.text("en.name"),
  slug: field.text("en.slug"),
  external_url: field.text("en.external_url"),
  created_at: field.instant("en.created_at"),
  updated_at: field.instant("en.updated_at"),
};

const environmentFields = {
  ...basicEnvironmentFields,
  tier: field.text("en.tier"),
  state: field.text("en.state"),
  auto_stop_at: field.instant("en.auto_stop_at"),
  description: field.text("en.description"),
  auto_stop_setting: field.text("en.auto_stop_setting"),
  // There are no agents for Kubernetes.
  cluster_agent: field.constant(null),
  kubernetes_namespace: field.constant(null),
  flux_resource_path: field.constant(null),
};

/** A deployment. */
export const deploymentFields = {
  id: field.integer("dp.id"),
  iid: field.integer("dp.iid"),
  ref: field.text("dp.ref"),
  sha: field.text("dp.sha"),
  created_at: field.instant("dp.created_at"),
  updated_at: field.instant("dp.updated_at"),
  user: field.nested(userSummaryFields),
  environment: field.nested(basicEnvironmentFields),
  deployable: field.nested(job.fields),
  status: field.text("dp.status"),
};

/** An environment in a list. */
export const listedEnvironment = presenter({
  ...environmentFields,
  project: field.nested(basicProject.fields),
});

/** A single environment, with the deployment that is there. */
export const environment = presenter({
  ...environmentFields,
  last_deployment: field.nested(deploymentFields),
});
