import {
  FINDING_SEVERITIES,
  ReportError,
  readFindings,
  SECURITY_REPORTS,
  type SecurityFinding,
  type SecurityReport,
} from "../../ci/index.ts";
import {
  arg,
  type GraphContext,
  type GraphqlModule,
  loaded,
  property,
  valueType,
} from "../../graphql/declare.ts";
import { listOf, loadedConnection } from "../../graphql/loaded-pages.ts";
import type { Value } from "../../store/port.ts";
import { finding, STATE } from "../absent/graphql.ts";
import { textOf } from "../ci/reports.ts";
import { mayReadVulnerabilities } from "../dependencies/abilities.ts";
import { type Reported, reported } from "./graphql-reports.ts";
import { addressOf } from "./request-reports.ts";

/** The types of GraphQL for where each kind of report finds something. */
const PLACES: Readonly<Record<SecurityReport, string>> = {
  sast: "Sast",
  secret_detection: "SecretDetection",
  dast: "Dast",
  api_fuzzing: "Dast",
  dependency_scanning: "DependencyScanning",
  container_scanning: "ContainerScanning",
  cluster_image_scanning: "ClusterImageScanning",
  coverage_fuzzing: "CoverageFuzzing",
};

const unreadable = (reason: string) => new ReportError(`report parsing failed: ${reason}`);

/**
 * What reports of security of pipelines have found, the worst first, for those who see vulnerabilities. Reports that can't be
 * read have found nothing.
 */
async function findingsOf(ids: readonly Value[], context: GraphContext) {
  const found = new Map<Value, { pipeline: Reported; findings: readonly SecurityFinding[] }>();
  if (context.tier !== "ultimate") return found;
  for (const pipeline of await reported(ids, SECURITY_REPORTS, context)) {
    const { project, reports } = pipeline;
    if (reports.length === 0 || !project || !mayReadVulnerabilities(project)) continue;
    const known = new Map<string, SecurityFinding>();
    for (const report of reports) {
      const text = textOf(context.db, report, context.budget, unreadable);
      try {
        await readFindings(report.file_type as SecurityReport, text, known, context.budget);
      } catch (error) {
        if (!(error instanceof ReportError)) throw error;
      }
    }
    const findings = [...known.values()].sort(
      (a, b) => FINDING_SEVERITIES.indexOf(a.severity) - FINDING_SEVERITIES.indexOf(b.severity),
    );
    found.set(pipeline.id, { pipeline, findings });
  }
  return found;
}

/** A finding as GraphQL shows it. */
function shown(pipeline: Reported, one: SecurityFinding) {
  const { kind, location, scanner, severity } = one;
  const { file, startLine } = location;
  const line = startLine === null ? null : Number(startLine);
  const blobPath = file === null ? null : addressOf(pipeline, { path: file, line });
  return {
    ...one,
    title: one.name,
    state: "DETECTED",
    severity: severity.toUpperCase(),
    reportType: kind.toUpperCase(),
    falsePositive: one.isFalsePositive,
    scanner: { ...scanner, externalId: scanner.id, reportType: kind.toUpperCase() },
    identifiers: one.identifiers.map(({ type, value, ...rest }) => ({
      ...{ externalType: type, externalId: value },
      ...rest,
    })),
    location: {
      type: `VulnerabilityLocation${PLACES[kind]}`,
      key: { ...location, requestMethod: location.vulnerableMethod, blobPath },
    },
  };
}

/** Whether a value is among those that a filter names, in any case. */
const isAmong = (value: string, wanted: readonly string[] | undefined) =>
  wanted === undefined || wanted.some((one) => one.toLowerCase() === value);

const section = valueType("SecurityReportSummarySection", "What a kind of report has found.", {
  vulnerabilitiesCount: property("Int"),
  scannedResourcesCount: property("Int"),
  scannedResourcesCsvPath: property("String"),
});
const camelCase = (kind: string) =>
  kind.replace(/_[a-z]/g, ([, letter = ""]) => letter.toUpperCase());
const summary = valueType("SecurityReportSummary", "What the reports of a pipeline have found.", {
  ...Object.fromEntries(
    [...SECURITY_REPORTS, "generic"].map((kind) => [camelCase(kind), property(section)]),
  ),
});

/** What scanners of security have found in pipelines. */
export const graphqlModule: GraphqlModule = {
  types: [],
  extend: {
    Pipeline: {
      securityReportSummary: loaded(summary, async (ids, context) => {
        const found = [...(await findingsOf(ids, context))].map(([id, { pipeline, findings }]) => {
          const kinds = new Set(pipeline.reports.map(({ file_type }) => file_type));
          const counts = [...kinds].map((kind) => [
            camelCase(kind),
            { vulnerabilitiesCount: findings.filter((one) => one.kind === kind).length },
          ]);
          return [id, Object.fromEntries(counts)] as const;
        });
        return new Map(found);
      }),
      securityReportFindings: loadedConnection(
        finding,
        async (ids, context, { reportType, scanner, severity, confidence, state }) => {
          const found = [...(await findingsOf(ids, context))].map(
            ([id, { pipeline, findings }]) => {
              const isWanted = (one: SecurityFinding) =>
                isAmong(one.kind, reportType) &&
                isAmong(one.scanner.id.toLowerCase(), scanner) &&
                isAmong(one.severity, severity) &&
                isAmong(one.confidence, confidence) &&
                isAmong("detected", state);
              return [
                id,
                listOf(findings.filter(isWanted).map((one) => shown(pipeline, one))),
              ] as const;
            },
          );
          return new Map(found);
        },
        {
          reportType: arg.list(arg.string),
          scanner: arg.list(arg.string),
          severity: arg.list(arg.string),
          confidence: arg.list(arg.string),
          state: arg.list(arg.choice(STATE)),
        },
      ),
    },
  },
};
