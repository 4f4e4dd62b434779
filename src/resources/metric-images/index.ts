import { findSource } from "../../core/access/source.ts";
import { ApiError, invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import { attachmentName } from "../../core/http/attachments.ts";
import { fileReply, imageHeaders } from "../../core/http/file-reply.ts";
import { IMAGE_TYPES, imageTypeOf } from "../../core/http/images.ts";
import { file } from "../../core/http/upload.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import { webAddressProblem } from "../../core/web-addresses.ts";
import type { StoredFile } from "../../files/write.ts";
import { insertRow } from "../../store/insert.ts";
import type { Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { mayUpdate } from "../issuables/abilities.ts";
import { ISSUE } from "../issuables/issue.ts";
import { findIssuable } from "../issuables/rules.ts";
import { migrations } from "./table.ts";

const MEBIBYTE = 1024 * 1024;
/** Pictures of an incident. */
const MOST = 100;

const ADDRESS = "/uploads/-/system/issuable_metric_image/file";

const metricImage = presenter({
  id: field.integer("mei.id"),
  created_at: field.instant("mei.created_at"),
  filename: field.text("mei.file_name"),
  file_path: field.derived(
    ["mei.id", "mei.file_name"],
    "string",
    ([id, name]) => `${ADDRESS}/${id}/${name}`,
  ),
  url: field.text("mei.url"),
  url_text: field.text("mei.url_text"),
});

const ofIssue = { issue_iid: param.recordId() };
const one = { ...ofIssue, metric_image_id: param.recordId() };
const told = { url: param.clearable(param.text()), url_text: param.clearable(param.text()) };

type In = Pick<Context, "source" | "viewer" | "caller"> & { readonly db: Reader };

/** An incident whose pictures the caller may change. @throws ApiError 403 or 404 */
async function changeable(context: In, iid: number) {
  const found = await findIssuable(context, ISSUE, iid, "Issue");
  const isIncident = found.issue_type === "incident";
  if (!isIncident || !mayUpdate(ISSUE)(found, context)) {
    throw new ApiError(403, { message: "Not allowed!" });
  }
  return found;
}

function requireUrl(url: string | null | undefined): void {
  const problem = url ? webAddressProblem(url) : undefined;
  if (problem) throw invalid({ url: [problem] });
}

/** A picture of an incident. @throws ApiError 404 */
async function find(db: Reader, issueId: number, imageId: number) {
  const found = await db.one<{ id: number; updated_at: number }>(
    "select id, updated_at from metric_images where issue_id = ? and id = ?",
    [issueId, imageId],
  );
  if (!found) throw new ApiError(404, { message: "Metric image not found" });
  return found;
}

async function rowOf(db: Reader, imageId: number): Promise<Value[]> {
  const [found] = await db.rows(
    `select ${metricImage.columns} from metric_images mei where mei.id = ?`,
    [imageId],
  );
  return found as Value[];
}

const { del, list, post, put } = routes({
  source: "project",
  path: "/issues/:issue_iid/metric_images",
  features: ["issues"],
});

/** Pictures of metrics, of incidents. */
export const metricImageResource: Resource = {
  name: "Metric images",
  migrations,
  routes: [
    list("", {
      summary: "List the pictures of an incident's metrics",
      access: "anyone",
      tier: "premium",
      input: ofIssue,
      presenter: metricImage,
      handle: async (context) => {
        const { db, presenter: shown, page, input } = context;
        const { id } = await findIssuable(context, ISSUE, input.issue_iid, "Issue");
        return paginate(db, shown, page, {
          from: "metric_images mei where mei.issue_id = ?",
          values: [id],
          order: "mei.id",
        });
      },
    }),
    post("", {
      summary: "Add a picture of an incident's metrics (multipart/form-data)",
      tier: "premium",
      input: { ...ofIssue, file: file(), ...told },
      upload: {
        part: "file",
        maxBytes: MEBIBYTE,
        whenTooLarge: () => invalid({ file: ["is too big (should be at most 1 MiB)"] }),
      },
      presenter: metricImage,
      handle: async (context) => {
        const { db, input, now } = context;
        const { id } = await changeable(context, input.issue_iid);
        requireUrl(input.url);
        const content_type = imageTypeOf(input.file.head);
        if (!content_type) {
          const formats = IMAGE_TYPES.join(", ");
          throw invalid({
            file: [
              `file format is not supported. Please try one of the following supported formats: ${formats}`,
            ],
          });
        }
        const [counted] = await db.rows("select count(*) from metric_images where issue_id = ?", [
          id,
        ]);
        if ((counted as [number])[0] >= MOST) {
          throw invalid({ base: [`Maximum number of metric images (${MOST}) exceeded`] });
        }
        const made = await insertRow(db, "metric_images", {
          issue_id: id,
          file_id: input.file.id,
          file_name: attachmentName(input.file.name),
          content_type,
          url: input.url ?? null,
          url_text: input.url_text ?? null,
          created_at: now,
          updated_at: now,
        });
        return rowOf(db, made);
      },
    }),
    put("/:metric_image_id", {
      summary: "Change the link of a picture of an incident's metrics",
      tier: "premium",
      input: { ...one, ...told },
      presenter: metricImage,
      handle: async (context) => {
        const { db, input, now } = context;
        const { url, url_text } = input;
        const incident = await changeable(context, input.issue_iid);
        const { id } = await find(db, incident.id, input.metric_image_id);
        requireUrl(url);
        await updateRow(db, "metric_images", id, { url, url_text }, now);
        return rowOf(db, id);
      },
    }),
    del("/:metric_image_id", {
      summary: "Remove a picture of an incident's metrics",
      tier: "premium",
      input: one,
      handle: async (context) => {
        const { db, input, requireUnmodified } = context;
        const incident = await changeable(context, input.issue_iid);
        const found = await find(db, incident.id, input.metric_image_id);
        requireUnmodified(found.updated_at);
        await db.run("delete from metric_images where id = ?", [found.id]);
        return undefined;
      },
    }),
  ],
};

interface Stored extends StoredFile {
  readonly file_name: string;
  readonly content_type: string;
  readonly project_id: number;
  readonly iid: number;
}

/** The addresses of these pictures, which are outside of the API. */
export const metricImageAddresses: Resource = {
  name: "Addresses of metric images",
  migrations: [],
  routes: [
    routes({ path: ADDRESS }).get("/:metric_image_id/:file_name", {
      answersWith: "image/*",
      summary: "Download a picture of an incident's metrics by its address",
      access: "anyone",
      input: { metric_image_id: param.recordId(), file_name: param.anyText() },
      handle: async ({ db, request, viewer, input }) => {
        const found = await db.one<Stored>(
          `select mei.file_name, mei.content_type, f.id, f.size, f.sha256, i.project_id, i.iid
           from metric_images mei join stored_files f on f.id = mei.file_id join issues i on i.id = mei.issue_id
           where mei.id = ?`,
          [input.metric_image_id],
        );
        if (found?.file_name !== input.file_name) throw notFound();
        const source = await findSource(db, "project", String(found.project_id), viewer);
        await findIssuable({ db, source, viewer }, ISSUE, found.iid);
        return fileReply(db, request, found, imageHeaders(found.file_name, found.content_type));
      },
    }),
  ],
};
