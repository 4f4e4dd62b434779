import { findSource } from "../../core/access/source.ts";
import * as param from "../../core/input.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { download } from "./download.ts";

const open = routes({ path: "/-/project/:project_id/uploads" });

/** The addresses of uploads outside of the API, which texts have. */
export const uploadAddresses: Resource = {
  name: "Addresses of uploads",
  migrations: [],
  routes: [
    open.get("/:secret/:file_name", {
      answersWith: "application/octet-stream",
      summary: "Download an upload by its address",
      access: "anyone",
      input: { project_id: param.recordId(), secret: param.anyText(), file_name: param.anyText() },
      handle: async (context) => {
        const { db, viewer, input } = context;
        const source = await findSource(db, "project", String(input.project_id), viewer);
        return download(context, source, input);
      },
    }),
  ],
};
