import * as audit from "../../audit/log.ts";
import { ROLES } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import { badRequest, invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, type RouteBuilder, routes } from "../../core/resource.ts";
import { all, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Reader, Value } from "../../store/port.ts";
import { memberRoleFields, permissions } from "./json.ts";
import { migrations } from "./table.ts";

/** Roles that a group, or the instance, may have. */
const MOST = 100;

const memberRole = presenter(memberRoleFields);

const { owner: _, ...BASE } = ROLES;
const one = { member_role_id: param.recordId() };
const attributes = {
  base_access_level: param.oneOf(Object.values(BASE)),
  name: param.unlessBlank(param.text()),
  description: param.clearable(param.anyText()),
  ...permissions.attributes,
};

const ofPlace = (source: Source | undefined) =>
  all([source ? when("mbr.namespace_id = ?", source.id) : when("mbr.namespace_id is null")]);

/** Checks that the place may have one more role of this name. @throws ApiError 400 */
async function requireRoom(db: Reader, source: Source | undefined, name: string): Promise<void> {
  if (source?.fullPath.includes("/")) {
    throw invalid({ namespace: ["must be top-level namespace"] });
  }
  const where = ofPlace(source);
  const names = await db.rows(
    `select lower(mbr.name) from member_roles mbr where ${where.sql} limit ${MOST}`,
    where.values,
  );
  if (names.length >= MOST) {
    throw invalid({
      namespace: [
        "maximum number of Member Roles are already in use by the group hierarchy. Please delete an existing Member Role.",
      ],
    });
  }
  if (names.some(([taken]) => taken === name.toLowerCase())) {
    throw invalid({ name: ["has already been taken"] });
  }
}

/** Where roles are, and who may say which there are. */
interface Place {
  readonly routes: RouteBuilder<"/member_roles", Source | undefined>;
  readonly who: { access?: "admin"; role?: "owner" };
  readonly of: string;
}

const PLACES: readonly Place[] = [
  {
    routes: routes({ path: "/member_roles" }),
    who: { access: "admin" },
    of: "the instance",
  },
  {
    routes: routes({ source: "group", path: "/member_roles" }),
    who: { role: "owner" },
    of: "a group at the top",
  },
];

function routesOf({ routes: { del, list, post }, who, of }: Place) {
  return [
    list("", {
      summary: `List the roles of ${of} beside the base ones`,
      ...who,
      presenter: memberRole,
      handle: ({ db, presenter: shown, page, source }) => {
        const { sql, values } = ofPlace(source);
        return paginate(db, shown, page, {
          from: `member_roles mbr where ${sql}`,
          values,
          order: "mbr.id",
        });
      },
    }),
    post("", {
      summary: `Add a role to ${of}, of which the base role counts`,
      ...who,
      tier: "ultimate",
      input: attributes,
      presenter: memberRole,
      handle: async (context) => {
        const { db, source, input, now, presenter: shown } = context;
        const kept_settings = await permissions.changed(input, async () => null);
        if (!kept_settings?.includes("true")) {
          throw invalid({ base: ["Cannot create a member role with no enabled permissions"] });
        }
        const name = input.name ?? "Custom";
        await requireRoom(db, source, name);
        const id = await insertRow(db, "member_roles", {
          namespace_id: source?.id ?? null,
          name,
          description: input.description ?? null,
          base_access_level: input.base_access_level,
          kept_settings,
          created_at: now,
          updated_at: now,
        });
        await audit.log(context, "member role added", { target: name });
        const [row] = await db.rows(
          `select ${shown.columns} from member_roles mbr where mbr.id = ?`,
          [id],
        );
        return row as Value[];
      },
    }),
    del("/:member_role_id", {
      summary: `Remove a role of ${of} that no member has`,
      ...who,
      input: one,
      handle: async (context) => {
        const { db, source, input, requireUnmodified } = context;
        const where = all([ofPlace(source), when("mbr.id = ?", input.member_role_id)]);
        const found = await db.one<{ id: number; name: string; updated_at: number }>(
          `select mbr.id, mbr.name, mbr.updated_at from member_roles mbr where ${where.sql}`,
          where.values,
        );
        if (!found) throw notFound("Member Role");
        requireUnmodified(found.updated_at);
        const held = await db.rows("select 1 from members where member_role_id = ? limit 1", [
          found.id,
        ]);
        if (held.length > 0) {
          throw badRequest(
            "Role is assigned to one or more group members. Remove role from all group members, then delete role.",
          );
        }
        await db.run("delete from member_roles where id = ?", [found.id]);
        await audit.log(context, "member role removed", { target: found.name });
        return undefined;
      },
    }),
  ];
}

/** Roles beside the base ones. */
export const memberRoleResource: Resource = {
  name: "Member roles",
  migrations,
  routes: PLACES.flatMap(routesOf),
};
