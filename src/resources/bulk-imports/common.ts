import { Readable } from "node:stream";
import * as v from "valibot";
import { ROLES } from "../../core/access/roles.ts";
import { attachmentName } from "../../core/http/attachments.ts";
import { imageTypeOf } from "../../core/http/images.ts";
import type { Kept } from "../../core/kept.ts";
import { storeFile } from "../../files/write.ts";
import { HOOK_TRIGGERS, MOST_FAILURES, maskOf } from "../../hooks/events.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database } from "../../store/port.ts";
import { MAX_AVATAR } from "../avatars/input.ts";
import * as avatars from "../avatars/queries.ts";
import { ArchiveError } from "../exports/format.ts";
import { EVENTS_OF } from "../hooks/json.ts";
import { plainUrlOf } from "../hooks/secrets.ts";
import { addMember } from "../placeholders/queries.ts";
import * as variables from "../variables/queries.ts";
import { requireValid } from "../variables/rules.ts";
import { type SourceRecord, write } from "./records.ts";
import {
  badgeRow,
  boardRows,
  instantIn,
  labelRow,
  listIn,
  memberRow,
  type Row,
  textIn,
  toldIn,
} from "./rows.ts";
import type { Bringing } from "./running.ts";
import type { Told } from "./source.ts";

/** The values of kept settings that another server shows and that are settings here, as they are stored; `null` for none. */
export function keptOf(settings: Kept<never>, told: Told): string | null {
  const initial = settings.read(null) as Readonly<Record<string, unknown>>;
  const kept: Record<string, unknown> = {};
  const attributes: Readonly<Record<string, { schema(): v.GenericSchema }>> = settings.attributes;
  for (const [name, attribute] of Object.entries(attributes)) {
    const value = told[name];
    if (value == null || typeof value === "object") continue;
    if (value !== initial[name] && v.is(attribute.schema(), value)) kept[name] = value;
  }
  return Object.keys(kept).length === 0 ? null : JSON.stringify(kept);
}

/** Brings the picture of a group or project. */
export async function bringAvatar(bringing: Bringing, told: Told): Promise<void> {
  const address = textIn(told["avatar_url"]);
  if (address === null) return;
  await bringing.part("avatar", async () => {
    const { store, source, now } = bringing.running;
    const parts: Uint8Array[] = [];
    for await (const part of source.bytes(`${bringing.path}/avatar`, MAX_AVATAR)) parts.push(part);
    const head = Buffer.concat(parts);
    if (imageTypeOf(head) === undefined) return;
    const given = new URL(address, "http://avatar").pathname.split("/").at(-1) ?? "avatar";
    const name = attachmentName(given);
    const file = await storeFile(store, Readable.from(parts), now());
    await write({ store, place: bringing.place }, (db) =>
      avatars.change(db, bringing.place, { ...file, name, head }, now()),
    );
  });
}

/** Brings labels. @param query which of them */
export const bringLabels = (bringing: Bringing, query: Readonly<Record<string, boolean>>) =>
  bringing.list("labels", `${bringing.path}/labels`, query, async (told) => {
    const row = labelRow(told, bringing.running.now());
    return bringing.record("labels", String(told["id"]), [row], [], {
      // One that a group above has is that one, or becomes the project's own.
      instead: async (db) => {
        if (told["is_project_label"] !== false) return undefined;
        const named = await bringing.named(db, [told["name"]], []);
        return named.label(told["name"]);
      },
    });
  });

/** Brings badges of its own. */
export const bringBadges = (bringing: Bringing) =>
  bringing.list("badges", `${bringing.path}/badges`, {}, async (told) => {
    const kind = bringing.place.kind;
    // Projects show those of their groups, too.
    if (told["kind"] !== undefined && told["kind"] !== kind) return undefined;
    return bringing.record(
      "badges",
      String(told["id"]),
      [badgeRow(told, bringing.running.now())],
      [],
    );
  });

/** Brings boards with lists of labels. */
export const bringBoards = (bringing: Bringing) =>
  bringing.list("boards", `${bringing.path}/boards`, {}, async (told) => {
    const { store, now } = bringing.running;
    const names = [
      ...listIn(told["labels"]),
      ...listIn(told["lists"]).map((list) => toldIn(list["label"])),
    ];
    const named = await bringing.named(
      store,
      names.map(({ name }) => name),
      [toldIn(told["milestone"])["id"]],
    );
    return bringing.record("boards", String(told["id"]), boardRows(told, named, now()), [told], {
      here: named.here,
    });
  });

/**
 * Brings direct members: users, if the importer may speak for them, which administrators may as in archives, and those who have a
 * placeholder, who are members once it is reassigned.
 */
export async function bringMembers(bringing: Bringing): Promise<void> {
  const { running, entity } = bringing;
  if (entity.migrate_memberships === 0) return;
  if (!running.importer.speaksForAll && !running.people.haveStandIns) {
    await bringing.part("members", () => bringing.fail("members", new Error(ONLY_ADMINISTRATORS)));
    return;
  }
  await bringing.list("members", `${bringing.path}/members`, {}, (told) =>
    memberRecord(bringing, told, memberRow(told, running.now())),
  );
}

const ONLY_ADMINISTRATORS = "only administrators say who has which role";

/**
 * A member of a group or project; `undefined` for an importer who may not speak for others, and is one already.
 *
 * @param person as GitLab shows somebody
 * @param row their membership
 * @throws ArchiveError if they can be no member here
 */
export async function memberRecord(
  bringing: Bringing,
  person: Told,
  row: Row,
): Promise<SourceRecord | undefined> {
  const { running, place } = bringing;
  const people = await running.people.in(person);
  const id = person["id"] as number;
  const owner =
    place.kind === "project"
      ? ({ column: "project_id", id: place.id } as const)
      : ({ column: "namespace_id", id: place.id } as const);
  const standIn = await running.people.sourceUserOf(id);
  const user = people.get(id);
  if (standIn !== undefined) {
    const membership = {
      source_user_id: standIn,
      ...{ namespace_id: null, project_id: null, [owner.column]: owner.id },
      ...membershipIn(row),
    };
    const instead = (db: Database) => addMember(db, membership, running.now());
    return bringing.record("members", String(id), [], [], { instead });
  }
  if (user === undefined) throw new ArchiveError(`${person["username"]} is nobody here`);
  if (!running.importer.speaksForAll) {
    if (user === running.importer.id) return undefined;
    throw new ArchiveError(ONLY_ADMINISTRATORS);
  }
  return bringing.record("members", String(id), [row], [person], {
    instead: async (db) => {
      const [found] = await db.rows(
        `select id from members where ${owner.column} = ? and user_id = ?`,
        [owner.id, user],
      );
      return found?.[0] as number | undefined;
    },
  });
}

/** The role and the last day of a membership. @throws ArchiveError if there can be none like it */
function membershipIn({ values }: Row) {
  const parsed = v.safeParse(MEMBERSHIP, values);
  if (!parsed.success) throw new ArchiveError("it is no membership that there can be here");
  return parsed.output;
}

const MEMBERSHIP = v.object({
  access_level: v.picklist(Object.values(ROLES)),
  expires_at: v.nullable(v.pipe(v.string(), v.isoDate())),
});

const VARIABLE = v.object({
  key: v.pipe(v.string(), v.regex(/^\w{1,255}$/)),
  value: v.pipe(v.string(), v.maxLength(10_000)),
  variable_type: v.optional(v.picklist(variables.VARIABLE_TYPES), "env_var"),
  protected: v.optional(v.boolean(), false),
  masked: v.optional(v.boolean(), false),
  hidden: v.optional(v.nullable(v.boolean()), false),
  raw: v.optional(v.boolean(), false),
  environment_scope: v.optional(v.pipe(v.string(), v.maxLength(255)), "*"),
  description: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(255))), null),
});

/** Brings CI/CD variables whose values are shown. Masked ones are not taken: other people may read them here. */
export const bringVariables = (bringing: Bringing) =>
  bringing.list(
    "variables",
    `${bringing.path}/variables`,
    {},
    async (told) => {
      if (told["masked"] === true || told["value"] == null) {
        throw new ArchiveError("its value is masked: set it here");
      }
      const parsed = v.safeParse(VARIABLE, told);
      if (!parsed.success) throw new ArchiveError("it is no variable that there can be here");
      const { hidden, ...variable } = parsed.output;
      requireValid(variable);
      const { running, place } = bringing;
      const owner =
        place.kind === "project"
          ? ({ column: "project_id", id: place.id } as const)
          : ({ column: "namespace_id", id: place.id } as const);
      return {
        kind: "variables",
        key: variableKey(told),
        title: variable.key,
        rows: [],
        instead: (db) =>
          variables.insert(
            db,
            running.secrets,
            owner,
            { ...variable, hidden: hidden ?? false },
            running.now(),
          ),
      };
    },
    { keyOf: variableKey },
  );

const variableKey = ({ key, environment_scope }: Told) => `${environment_scope ?? "*"} ${key}`;

/** Brings webhooks, without their secrets and switched off: somebody here must decide where they may be sent. */
export const bringHooks = (bringing: Bringing) =>
  bringing.list("hooks", `${bringing.path}/hooks`, {}, async (told) => {
    const { place, running } = bringing;
    const url = textIn(told["url"]) ?? "";
    if (!/^https?:\/\//.test(url) || !URL.canParse(url) || url.length > 2048) {
      throw new ArchiveError("its address is not valid");
    }
    const events = EVENTS_OF[place.kind].filter((event) => told[`${event}_events`] === true);
    const at = instantIn(told["created_at"]) ?? running.now();
    return {
      kind: "hooks",
      key: String(told["id"]),
      title: null,
      rows: [],
      instead: (db) =>
        insertRow(db, "hooks", {
          [place.kind === "project" ? "project_id" : "namespace_id"]: place.id,
          url: plainUrlOf(url),
          name: textIn(told["name"])?.slice(0, 255) ?? null,
          description: textIn(told["description"])?.slice(0, 2048) ?? null,
          events: maskOf(events.filter((event) => HOOK_TRIGGERS.includes(event))),
          enable_ssl_verification: told["enable_ssl_verification"] === false ? 0 : 1,
          push_events_branch_filter:
            textIn(told["push_events_branch_filter"])?.slice(0, 255) ?? null,
          base: "http://localhost",
          failures: MOST_FAILURES,
          created_at: at,
          updated_at: at,
        }),
    };
  });
