import { ApiError } from "../../core/errors.ts";
import { dispositionOf } from "../../core/http/file-reply.ts";
import { file } from "../../core/http/upload.ts";
import { Json, RawReply, type Resource, routes } from "../../core/resource.ts";
import { bytesOf, readFile } from "../../files/read.ts";
import { queueLetter } from "../../jobs/mails.ts";
import * as users from "../users/queries.ts";
import { reassigningOf } from "./actions.ts";
import * as csv from "./from-csv.ts";
import * as sourceUsers from "./queries.ts";
import { migrations } from "./table.ts";

const { get, post } = routes({ source: "group", path: "/placeholder_reassignments" });

const PROCESSED = "The file is being processed and you will receive an email when completed.";

/** Reassignment of what was imported into a group to users here (docs/moving-in.md). */
export const placeholderResource: Resource = {
  name: "Placeholder reassignments",
  migrations,
  routes: [
    get("", {
      summary: "Download the placeholders of a group that are not reassigned, as a CSV file",
      role: "owner",
      answersWith: "text/csv",
      handle: async ({ db, source, now }) => {
        const name = `placeholder_reassignments_for_group_${source.id}_${Math.floor(now / 1000)}.csv`;
        const headers = {
          "content-type": "text/csv; charset=utf-8",
          "content-disposition": dispositionOf("attachment", name),
        };
        const found = await sourceUsers.listReassignable(db, source.id);
        return new RawReply(200, headers, csv.written(found));
      },
    }),
    post("", {
      summary: "Reassign the placeholders of a group, by a CSV file (multipart/form-data)",
      role: "owner",
      input: { file: file() },
      upload: { part: "file", maxBytes: csv.MOST_BYTES },
      examples: [{ message: PROCESSED }],
      prepare: async (input, { store, source, budget }) => {
        if (!input.file.name.endsWith(".csv")) {
          throw new ApiError(422, {
            message: "You must upload a CSV file with a .csv file extension.",
          });
        }
        const bytes = await bytesOf(readFile(store.reader(), input.file));
        return budget.take(csv.read(bytes.toString("utf8"), source.id));
      },
      handle: async (context) => {
        const { db, source, caller, now, prepared } = context;
        const { claims, skipped } = prepared;
        const change = await reassigningOf(context);
        const counted = { ...(await csv.apply(change, claims, caller.admin)), skipped };
        const { email: to } = (await users.find(db, caller.id)) as users.User;
        await queueLetter(db, { claims: source.id, to, ...counted, at: now }, now);
        return new Json({ message: PROCESSED });
      },
    }),
  ],
};
