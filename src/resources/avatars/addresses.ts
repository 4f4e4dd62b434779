import { findSource } from "../../core/access/source.ts";
import * as param from "../../core/input.ts";
import { type Resource, type Route, routes } from "../../core/resource.ts";
import { download } from "./download.ts";

const { get } = routes({ path: "/uploads/-/system" });

const ofSources = (["group", "project"] as const).map(
  (kind): Route =>
    get(`/${kind}/avatar/:source_id/:file_name`, {
      answersWith: "image/*",
      summary: `Download the picture of a ${kind} by its address`,
      access: "anyone",
      input: { source_id: param.recordId(), file_name: param.anyText() },
      handle: async (context) => {
        const { db, viewer, input } = context;
        const { id } = await findSource(db, kind, String(input.source_id), viewer);
        return download(context, { kind, id }, input.file_name);
      },
    }),
);

/** The addresses of pictures outside of the API, which responses link to. */
export const avatarAddresses: Resource = {
  name: "Addresses of avatars",
  migrations: [],
  routes: [
    get("/user/avatar/:user_id/:file_name", {
      answersWith: "image/*",
      summary: "Download the picture of a user by its address",
      access: "anyone",
      input: { user_id: param.recordId(), file_name: param.anyText() },
      handle: (context) => {
        const { user_id: id, file_name } = context.input;
        return download(context, { kind: "user", id }, file_name);
      },
    }),
    get("/projects/topic/avatar/:topic_id/:file_name", {
      answersWith: "image/*",
      summary: "Download the picture of a topic by its address",
      access: "anyone",
      input: { topic_id: param.recordId(), file_name: param.anyText() },
      handle: (context) => {
        const { topic_id: id, file_name } = context.input;
        return download(context, { kind: "topic", id }, file_name);
      },
    }),
    ...ofSources,
  ],
};
