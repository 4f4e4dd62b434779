import { randomUUID } from "node:crypto";
import { memberProjects, type Viewer, visibleProjects } from "../../core/access/visibility.ts";
import { ApiError } from "../../core/errors.ts";
import {
  arg,
  computed,
  connection,
  constant,
  first,
  type GraphqlModule,
  gid,
  int,
  mutation,
  notAvailable,
  one,
  required,
  routeOf,
  rowType,
  string,
  time,
} from "../../graphql/declare.ts";
import { when } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { terraformStateResource } from "./index.ts";

/** As REST shows states: to developers. */
const visible = (viewer: Viewer) =>
  viewer.caller?.admin ? visibleProjects(viewer) : memberProjects(viewer, "developer");

const version = rowType("TerraformStateVersion", {
  about: "A version of a state of Terraform.",
  from: `terraform_state_versions tv join terraform_states ts on ts.id = tv.state_id
    join projects p on p.id = ts.project_id`,
  key: "tv.id",
  visible,
  fields: {
    id: gid("TerraformStateVersion", "tv.id", "Terraform::StateVersion"),
    serial: int("tv.serial"),
    downloadPath: computed(
      "String",
      ["ts.project_id", "ts.name", "tv.serial"],
      ([project, name, serial]) =>
        `/api/v4/projects/${project}/terraform/state/${name}/versions/${serial}`,
    ),
    createdAt: required(time("tv.created_at")),
    updatedAt: required(time("tv.created_at")),
  },
});

const state = rowType("TerraformState", {
  about: "A state of Terraform or OpenTofu.",
  from: `terraform_states ts join projects p on p.id = ts.project_id
    left join users u on u.username = ts.locked_by`,
  key: "ts.id",
  visible,
  fields: {
    id: gid("TerraformState", "ts.id", "Terraform::State"),
    name: required(string("ts.name")),
    lockedByUser: one("UserCore", "u.id"),
    lockedAt: time("ts.locked_at"),
    latestVersion: one(
      "TerraformStateVersion",
      `(select lv.id from terraform_state_versions lv where lv.state_id = ts.id
        order by lv.serial desc limit 1)`,
    ),
    createdAt: required(time("ts.created_at")),
    updatedAt: required(time("ts.updated_at")),
    deletedAt: constant("Time", null),
  },
});

const BY_NAME = [{ sql: "ts.name", isText: true }, { sql: "ts.id" }];

/** What a route needs to find a state, by its id: the route checks what the caller may do. @throws GraphError */
async function placeOf(db: Reader, id: number): Promise<{ id: number; name: string }> {
  const found = await db.one<{ id: number; name: string }>(
    "select project_id as id, name from terraform_states where id = ?",
    [id],
  );
  if (!found) throw notAvailable();
  return found;
}

/** A mutation that does to a state what a route does. */
const byRoute = (about: string, name: string, sent: () => object = () => ({})) => {
  const route = routeOf(terraformStateResource, name);
  return mutation({
    about,
    input: { id: arg.required(arg.gid("TerraformState", ["Terraform::State"])) },
    payload: {},
    run: async ({ id }, { call, db }) => {
      const place = await placeOf(db, id);
      try {
        await call(route, { ...place, ...sent() });
      } catch (error) {
        // REST's answer is the lock, for Terraform.
        const isLocked = error instanceof ApiError && error.status === 409;
        throw isLocked ? new ApiError(409, { message: "state is already locked" }) : error;
      }
      return {};
    },
  });
};

const PATH = "/projects/:id/terraform/state/:name";

/** States of Terraform and OpenTofu, whose contents REST has. */
export const graphqlModule: GraphqlModule = {
  types: [state, version],
  extend: {
    Project: {
      terraformState: first("TerraformState", {
        args: { name: arg.required(arg.string) },
        query: ({ name }) => ({ parent: "ts.project_id", where: when("ts.name = ?", name) }),
      }),
      terraformStates: connection("TerraformState", {
        query: () => ({ parent: "ts.project_id", order: BY_NAME }),
      }),
    },
  },
  mutations: {
    terraformStateDelete: byRoute("Delete a state of Terraform.", `DELETE ${PATH}`),
    terraformStateLock: byRoute("Lock a state of Terraform.", `POST ${PATH}/lock`, () => ({
      ID: randomUUID(),
    })),
    terraformStateUnlock: byRoute("Unlock a state of Terraform.", `DELETE ${PATH}/lock`),
  },
};
