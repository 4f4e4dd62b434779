/** The formats of `artifacts:reports:coverage_report`. */
export const COVERAGE_FORMATS = ["cobertura", "jacoco"] as const;
export type CoverageFormat = (typeof COVERAGE_FORMATS)[number];

/** The file of each kind of report, and how runners send it. */
export const REPORTS: Readonly<
  Record<string, readonly [name: string, format: "gzip" | "raw" | "zip"]>
> = {
  accessibility: ["gl-accessibility.json", "raw"],
  annotations: ["gl-annotations.json", "gzip"],
  api_fuzzing: ["gl-api-fuzzing-report.json", "raw"],
  browser_performance: ["browser-performance.json", "raw"],
  cluster_image_scanning: ["gl-cluster-image-scanning-report.json", "raw"],
  codequality: ["gl-code-quality-report.json", "raw"],
  container_scanning: ["gl-container-scanning-report.json", "raw"],
  coverage_fuzzing: ["gl-coverage-fuzzing.json", "raw"],
  cyclonedx: ["gl-sbom.cdx.json", "gzip"],
  dast: ["gl-dast-report.json", "raw"],
  dependency_scanning: ["gl-dependency-scanning-report.json", "raw"],
  dotenv: [".env", "gzip"],
  junit: ["junit.xml", "gzip"],
  load_performance: ["load-performance.json", "raw"],
  lsif: ["lsif.json", "zip"],
  metrics: ["metrics.txt", "gzip"],
  performance: ["performance.json", "raw"],
  repository_xray: ["gl-repository-xray.json", "gzip"],
  requirements: ["requirements.json", "raw"],
  requirements_v2: ["requirements_v2.json", "raw"],
  sast: ["gl-sast-report.json", "raw"],
  secret_detection: ["gl-secret-detection-report.json", "raw"],
  terraform: ["tfplan.json", "raw"],
};

/** What the reports are called that runners send. */
export const REPORT_KINDS: readonly string[] = [...Object.keys(REPORTS), ...COVERAGE_FORMATS];
