import type { Source } from "../../core/access/source.ts";
import { badRequest, invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, type Resource, routes, type SourceKind } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { takeMilestone } from "../ended-milestones.ts";
import { burndown, burndownEvent } from "./burndown.ts";
import { changed } from "./followers.ts";
import { anyMilestone, groupMilestone, projectMilestone } from "./json.ts";
import * as milestones from "./queries.ts";
import { remove } from "./removal.ts";
import { migrations } from "./table.ts";

const attributes = {
  description: param.clearable(param.anyText({ max: param.LONG_TEXT })),
  due_date: param.clearable(param.date()),
  start_date: param.clearable(param.date()),
};
const id = { milestone_id: param.recordId() };

type In = Pick<Context, "source"> & { db: Reader; input: { milestone_id: number } };

async function findMilestone({ db, source, input }: In) {
  const found = await milestones.find(db, source, input.milestone_id);
  if (!found) throw notFound();
  return found;
}

async function requireFreeTitle(db: Reader, source: Source, title: string, exceptId?: number) {
  if (await milestones.isTaken(db, source, title, exceptId)) {
    throw invalid({ title: ["already being used for another group or project milestone."] });
  }
}

function requireOrder(start: string | null | undefined, due: string | null | undefined): void {
  if (start && due && due < start) {
    throw invalid({ due_date: ["must be greater than start date"] });
  }
}

/** Which milestones a list has besides those of its owner. */
const wider = (input: {
  readonly include_ancestors?: boolean | undefined;
  readonly include_parent_milestones?: boolean | undefined;
  readonly include_descendants?: unknown;
}) => ({
  ancestors: input.include_ancestors ?? input.include_parent_milestones ?? false,
  descendants: input.include_descendants === true,
});

/** Filters that only lists of groups have. */
const onlyOfGroups = {
  search_title: param.optional(param.anyText({ max: 255 })),
  containing_date: param.optional(param.looseInstant()),
  start_date: param.optional(param.looseInstant()),
  end_date: param.optional(param.looseInstant()),
};

/** What these leave. @throws ApiError 400 if only one of the two ends of days is given */
function ofGroup({
  search_title: title,
  containing_date: within,
  start_date: first,
  end_date: last,
}: Partial<param.Input<typeof onlyOfGroups>>): Pick<milestones.MilestoneFilter, "titled" | "days"> {
  if ((first === undefined) !== (last === undefined)) {
    throw badRequest("start_date and end_date are needed together");
  }
  const contained = within === undefined ? undefined : dayOf(within);
  return {
    titled: title?.split(/\s+/).filter((word) => word !== ""),
    days:
      first === undefined || last === undefined
        ? { contained }
        : { contained, first: dayOf(first), last: dayOf(last) },
  };
}

function routesOf(source: SourceKind) {
  const { del, get, list, post, put } = routes({
    source,
    path: "/milestones",
    features: ["issues", "merge_requests"],
  });
  const presenter = source === "group" ? groupMilestone : projectMilestone;
  return [
    list("", {
      summary: `List the milestones of a ${source}, newest first`,
      isShownToVisitors: true,
      input: {
        iids: param.optional(param.arrayOf(param.integer(), { max: 500 })),
        state: param.optional(param.choice(["active", "closed"])),
        title: param.optional(param.anyText()),
        search: param.optional(param.anyText()),
        updated_after: param.optional(param.looseInstant()),
        updated_before: param.optional(param.looseInstant()),
        ...(source === "group" && onlyOfGroups),
        include_ancestors: param.optional(param.boolean()),
        // Their old name, and what only groups have below them.
        include_parent_milestones: param.optional(param.boolean()),
        ...(source === "group" && { include_descendants: param.optional(param.boolean()) }),
      },
      presenter: ({ input }) =>
        Object.values(wider(input)).includes(true) ? anyMilestone : presenter,
      handle: ({ db, presenter, page, source, input, viewer }) =>
        milestones.list(db, presenter, page, viewer, source, {
          updatedAfter: input.updated_after,
          updatedBefore: input.updated_before,
          ...wider(input),
          iids: input.iids?.length ? input.iids : undefined,
          state: input.state,
          title: input.title,
          search: input.search,
          ...ofGroup(input),
        }),
    }),
    get("/:milestone_id", {
      summary: "Get a milestone by its id (not its iid)",
      input: id,
      presenter,
      handle: async (context) =>
        milestones.row(context.db, context.presenter, (await findMilestone(context)).id),
    }),
    list("/:milestone_id/burndown_events", {
      summary: "List when the issues of a milestone were created, closed and reopened",
      tier: "premium",
      input: id,
      presenter: burndownEvent,
      handle: async (context) => {
        const { db, presenter, page, viewer } = context;
        return burndown(db, presenter, page, viewer, await findMilestone(context));
      },
    }),
    post("", {
      summary: "Create a milestone",
      role: "developer",
      input: { title: param.title(), ...attributes },
      presenter,
      handle: async (context) => {
        const { db, source, presenter, input, now } = context;
        requireOrder(input.start_date, input.due_date);
        await requireFreeTitle(db, source, input.title);
        const id = await milestones.insert(db, source, input, now);
        await changed(context, "created", id);
        return milestones.row(db, presenter, id);
      },
    }),
    put("/:milestone_id", {
      summary: "Change, close or reopen a milestone",
      role: "developer",
      input: {
        ...id,
        title: param.optional(param.title()),
        ...attributes,
        state_event: param.optional(param.choice(["close", "activate"])),
      },
      atLeastOne: ["title", "description", "due_date", "start_date", "state_event"],
      presenter,
      handle: async (context) => {
        const { db, source, presenter, input, now } = context;
        const found = await findMilestone(context);
        const { title, description, due_date, start_date, state_event } = input;
        requireOrder(
          start_date === undefined ? found.start_date : start_date,
          due_date === undefined ? found.due_date : due_date,
        );
        if (title !== undefined) await requireFreeTitle(db, source, title, found.id);
        const state = state_event && (state_event === "close" ? "closed" : "active");
        await updateRow(
          db,
          "milestones",
          found.id,
          { title, description, due_date, start_date, state },
          now,
        );
        if (state && state !== found.state) {
          await changed(context, state === "closed" ? "closed" : "reopened", found.id);
        }
        return milestones.row(db, presenter, found.id);
      },
    }),
    del("/:milestone_id", {
      summary: "Delete a milestone",
      role: "developer",
      input: id,
      handle: async (context) => {
        const found = await findMilestone(context);
        context.requireUnmodified(found.updated_at);
        await changed(context, "destroyed", found.id);
        await remove(context.db, found.id, context.now, () => takeMilestone(context, found.id));
        return undefined;
      },
    }),
  ];
}

/** Milestones of groups and of projects. */
export const milestoneResource: Resource = {
  name: "Milestones",
  migrations,
  routes: [...routesOf("group"), ...routesOf("project")],
};
