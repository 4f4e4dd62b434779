import { badRequest, notFound } from "../../core/errors.ts";
import { file } from "../../core/http/upload.ts";
import * as param from "../../core/input.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import { downloadOf } from "../packages/download.ts";
import { readingProject, writing } from "../packages/places.ts";
import * as packages from "../packages/queries.ts";
import { limitOf, OWN } from "../plan-limits/limits.ts";
import { requireUnprotected } from "../protection-rules/abilities.ts";
import { isName, readChart } from "./chart.ts";
import { findChart, indexOf } from "./charts.ts";

const { get, post } = routes({
  source: "project",
  path: "/packages/helm",
  features: ["package_registry"],
});

/** Helm sends what it was given only with `--pass-credentials`, or once it is asked for it. */
const asked = { basicAuth: "asked" } as const;
const channel = { channel: param.checked(param.anyText(), isName, "is invalid") };

/** The registry of charts for Helm, over the packages of projects (docs/packages.md). */
export const helmPackageResource: Resource = {
  name: "Helm charts",
  migrations: [],
  routes: [
    post("/api/:channel/charts", {
      summary: "Upload a chart of Helm to a channel (multipart/form-data)",
      ...writing,
      ...asked,
      input: { ...channel, chart: file() },
      upload: {
        part: "chart",
        maxBytes: OWN.helm_max_file_size,
        admit: ({ db }) => limitOf(db, "helm_max_file_size"),
        whenTooLarge: () => badRequest("File is too large"),
      },
      examples: [{ message: "201 Created" }],
      prepare: ({ chart }, { db, budget }) => readChart(db, chart, budget),
      handle: async (context) => {
        const { db, source, caller, input, prepared: chart, now } = context;
        const { name, version } = chart;
        await requireUnprotected(context, "push", { name, package_type: "helm" });
        const of: packages.Version = { package_type: "helm", name, version };
        const made = { status: "default", creator_id: packages.creatorOf(caller) } as const;
        const id = await packages.findOrInsertVersion(db, source.id, of, made, now);
        await packages.requireRoom(db, id);
        const added = {
          ...input.chart,
          name: `${name}-${version}.tgz`,
          channel: input.channel,
          manifest: JSON.stringify(chart),
        };
        await packages.insertFile(db, id, added, "default", now);
        return new Json({ message: "201 Created" });
      },
    }),
    get("/:channel/index.yaml", {
      summary: "Get the index of a channel, as Helm reads it: its charts with their versions",
      answersWith: "text/yaml",
      ...readingProject,
      ...asked,
      input: channel,
      handle: ({ db, request, source, input }) => indexOf(db, request, source.id, input.channel),
    }),
    get("/:channel/charts/:file_name.tgz", {
      summary: "Download a chart of Helm: its newest file in the channel",
      answersWith: "application/octet-stream",
      ...readingProject,
      ...asked,
      input: { ...channel, file_name: param.anyText({ max: 512 }) },
      handle: async ({ db, request, source, input }) => {
        const name = `${input.file_name}.tgz`;
        const found = await findChart(db, source.id, input.channel, name);
        if (!found) throw notFound();
        return downloadOf(db, request, found, name);
      },
    }),
  ],
};
