import * as param from "../core/input.ts";
import { escaped } from "../core/markup.ts";
import { RawReply, type Route, routes } from "../core/resource.ts";
import { readingRole } from "../resources/ci/abilities.ts";
import { latestTag } from "../resources/releases/queries.ts";
import type { Reader } from "../store/port.ts";

const GREEN = "#4c1";
const LIGHT_GREEN = "#a3c51c";
const YELLOW = "#dfb317";
const RED = "#e05d44";
const GREY = "#9f9f9f";
const BLUE = "#3076af";

/** What a badge says, and how wide its two parts are, in pixels. */
interface Badge {
  readonly key: string;
  readonly keyWidth: number;
  readonly value: string;
  readonly valueWidth: number;
  readonly color: string;
}

/** The colours of pipelines, by their status; of others grey. */
const STATUSES: Readonly<Record<string, { readonly word: string; readonly color: string }>> = {
  success: { word: "passed", color: GREEN },
  failed: { word: "failed", color: RED },
  running: { word: "running", color: YELLOW },
  pending: { word: "pending", color: YELLOW },
};

/** The colours of a coverage, each with the least percentage that has it, the best first. */
const COVERAGES = [
  { least: "min_good", by_default: 95, color: GREEN },
  { least: "min_acceptable", by_default: 90, color: LIGHT_GREEN },
  { least: "min_medium", by_default: 75, color: YELLOW },
] as const;

const releases = routes({
  source: "project",
  isAddress: true,
  repository: true,
  features: ["releases"],
});
const pipelines = routes({ source: "project", isAddress: true, features: ["jobs"] });

/** How the left part may look. */
const key = {
  key_text: param.optional(param.anyText({ max: 64 })),
  key_width: param.optional(param.integer({ min: 1, max: 512 })),
};
const ref = { ref_name: param.anyText({ max: 1024 }) };
const percentage = param.optional(param.integer({ min: 0, max: 100 }));

/** The newest pipeline of a branch or tag. */
async function newest(
  db: Reader,
  projectId: number,
  name: string,
  ignoresSkipped: boolean,
): Promise<{ id: number; status: string; coverage: string | null } | undefined> {
  return db.one(
    `select pl.id, pl.status, pl.coverage from pipelines pl
     where pl.project_id = ? and pl.ref = ? and pl.source <> 'parent_pipeline'
       ${ignoresSkipped ? "and pl.status <> 'skipped'" : ""} order by pl.id desc limit 1`,
    [projectId, name],
  );
}

/** The coverage of the job of a name in a pipeline. */
async function coverageOf(db: Reader, pipelineId: number, job: string): Promise<string | null> {
  const [found] = await db.rows(
    `select coverage from ci_jobs where pipeline_id = ? and name = ? and retried = 0
     order by id desc limit 1`,
    [pipelineId, job],
  );
  return (found?.[0] as string | null | undefined) ?? null;
}

const shown = { answersWith: "image/svg+xml", access: "anyone" } as const;
const ofPipelines = { ...shown, role: readingRole } as const;

/** Addresses of badges, which READMEs show. */
export const badgeAddresses: readonly Route[] = [
  pipelines.get("/badges/:ref_name*/pipeline.svg", {
    summary: "Get a badge with the status of the newest pipeline of a branch or tag",
    ...ofPipelines,
    input: { ...ref, ...key, ignore_skipped: param.optional(param.boolean()) },
    handle: async ({ db, source, input }) => {
      const { ref_name, key_text = "pipeline", key_width = 62, ignore_skipped = false } = input;
      const found = await newest(db, source.id, ref_name, ignore_skipped);
      const status = found?.status ?? "unknown";
      const { word, color } = STATUSES[status] ?? {
        word: status.replaceAll("_", " "),
        color: GREY,
      };
      return reply({ key: key_text, keyWidth: key_width, value: word, valueWidth: 54, color });
    },
  }),
  pipelines.get("/badges/:ref_name*/coverage.svg", {
    summary: "Get a badge with the coverage of the newest pipeline of a branch or tag",
    ...ofPipelines,
    input: {
      ...ref,
      ...key,
      job: param.optional(param.anyText({ max: 255 })),
      min_good: percentage,
      min_acceptable: percentage,
      min_medium: percentage,
    },
    handle: async ({ db, source, input }) => {
      const { ref_name, key_text = "coverage", key_width = 62, job } = input;
      const found = await newest(db, source.id, ref_name, false);
      const coverage = found && (job ? await coverageOf(db, found.id, job) : found.coverage);
      const number = coverage == null ? undefined : Number(coverage);
      const color = COVERAGES.find(
        ({ least, by_default }) => number !== undefined && number >= (input[least] ?? by_default),
      )?.color;
      return reply({
        key: key_text,
        keyWidth: key_width,
        value: number === undefined ? "unknown" : `${number.toFixed(2)}%`,
        valueWidth: number === undefined ? 58 : 54,
        color: color ?? (number === undefined ? GREY : RED),
      });
    },
  }),
  releases.get("/-/badges/release.svg", {
    summary: "Get a badge with the tag of the latest release",
    ...shown,
    input: { ...key, value_width: param.optional(param.integer({ min: 1, max: 200 })) },
    handle: async ({ db, source, input, now }) => {
      const { key_text = "Latest Release", key_width = 90, value_width = 54 } = input;
      const tag = await latestTag(db, source.id, now);
      return reply({
        key: key_text,
        keyWidth: key_width,
        value: tag ?? "none",
        valueWidth: value_width,
        color: tag === undefined ? RED : BLUE,
      });
    },
  }),
];

/** Characters of a value that are shown: they would not fit. */
const MOST_SHOWN = 40;

function reply({ key, keyWidth, value, valueWidth, color }: Badge): RawReply {
  const width = keyWidth + valueWidth;
  const text = (at: number, shown: string) =>
    `<text x="${at}" y="14">${escaped(shown.slice(0, MOST_SHOWN))}</text>`;
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="20" role="img" aria-label="${escaped(`${key}: ${value}`)}">
<clipPath id="round"><rect width="${width}" height="20" rx="3"/></clipPath>
<g clip-path="url(#round)"><path fill="#555" d="M0 0h${keyWidth}v20H0z"/><path fill="${color}" d="M${keyWidth} 0h${valueWidth}v20H${keyWidth}z"/></g>
<g fill="#fff" text-anchor="middle" font-family="DejaVu Sans,Verdana,Geneva,sans-serif" font-size="11">
${text(keyWidth / 2, key)}
${text(keyWidth + valueWidth / 2, value)}
</g>
</svg>
`;
  const headers = {
    "content-type": "image/svg+xml",
    "cache-control": "private, no-store",
    "content-security-policy": "default-src 'none'; sandbox",
  };
  return new RawReply(200, headers, picture);
}
