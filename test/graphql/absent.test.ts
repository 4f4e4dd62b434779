import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

// What GitLab has and this server has not: documents that name it are answered.

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const NONE = { nodes: [], count: 0, pageInfo: { hasNextPage: false } };
const PAGE = "count pageInfo { hasNextPage }";

it("has no vulnerabilities", async () => {
  const fields = `id name title description state severity reportType resolvedOnDefaultBranch detectedAt dismissalReason
    primaryIdentifier { name externalType externalId url } identifiers { name } scanner { name vendor externalId } links { name url }
    location { ... on VulnerabilityLocationSast { file startLine endLine blobPath } ... on VulnerabilityLocationDast { path hostname }
      ... on VulnerabilityLocationDependencyScanning { file dependency { package { name } version } }
      ... on VulnerabilityLocationContainerScanning { image operatingSystem } ... on VulnerabilityLocationSecretDetection { file } }
    issueLinks { nodes { id } } mergeRequest { iid } project { id fullPath }`;
  const counts = "vulnerabilitySeveritiesCount { critical high medium low info unknown }";
  const data = await ask(
    app,
    `query ($state: [VulnerabilityState!], $severity: [VulnerabilitySeverity!], $report: [VulnerabilityReportType!],
        $sort: VulnerabilitySort) {
      vulnerability(id: "gid://gitlab/Vulnerability/1") { ${fields} }
      vulnerabilities(projectId: ["1"], state: $state) { ${PAGE} nodes { id } }
      group(fullPath: "acme") { vulnerabilities { ${PAGE} nodes { id } } ${counts} }
      project(fullPath: "acme/site") { ${counts}
        vulnerabilities(state: $state, severity: $severity, reportType: $report, sort: $sort, first: 5) { ${PAGE} nodes { ${fields} } }
        pipelines { nodes { securityReportSummary { sast { vulnerabilitiesCount } }
          securityReportFindings(first: 5, severity: ["HIGH"]) { nodes { uuid vulnerability { id } } } } } } }`,
    { state: ["DETECTED"], severity: ["CRITICAL"], report: ["SAST"], sort: "severity_desc" },
  );
  const zero = { critical: 0, high: 0, medium: 0, low: 0, info: 0, unknown: 0 };
  expect(data).toMatchObject({
    vulnerability: null,
    vulnerabilities: NONE,
    group: { vulnerabilities: NONE, vulnerabilitySeveritiesCount: zero },
    project: { vulnerabilities: NONE, vulnerabilitySeveritiesCount: zero },
  });
});

it("has no images, catalogue, emoji of groups, dependency proxy and timelines of incidents", async () => {
  const { json: issue } = await app.call("POST /projects/acme%2Fsite/issues", {
    as: "owner",
    json: { title: "Down", issue_type: "incident" },
  });
  const data = await ask(
    app,
    `query ($incident: IssueID!) {
      containerRepository(id: "gid://gitlab/ContainerRepository/1") { id tags(name: "x") { nodes { name totalSize } } }
      ciCatalogResources(scope: ALL, sort: NAME_ASC) { ${PAGE} nodes { id latestVersion { name } } }
      ciCatalogResource(fullPath: "acme/site") { id versions { nodes { components { nodes { inputs { name } } } } } }
      project(fullPath: "acme/site") { containerRepositories(name: "x") { ${PAGE} nodes { id } } issue(iid: "${issue.iid}") { escalationStatus }
        incidentManagementTimelineEvents(incidentId: $incident) { ${PAGE} nodes { note timelineEventTags { nodes { name } } } } }
      group(fullPath: "acme") { containerRepositories { ${PAGE} nodes { id } } customEmoji { ${PAGE} nodes { id name url } } epicsEnabled
        dependencyProxySetting { enabled } dependencyProxyBlobCount dependencyProxyTotalSize dependencyProxyImagePrefix
        dependencyProxyImageTtlPolicy { enabled ttl } dependencyProxyBlobs { ${PAGE} nodes { fileName size } } } }`,
    { incident: `gid://gitlab/Issue/${issue.id}` },
  );
  expect(data).toEqual({
    containerRepository: null,
    ciCatalogResources: NONE,
    ciCatalogResource: null,
    project: {
      containerRepositories: NONE,
      issue: { escalationStatus: null },
      incidentManagementTimelineEvents: NONE,
    },
    group: {
      containerRepositories: NONE,
      customEmoji: NONE,
      epicsEnabled: false,
      dependencyProxySetting: { enabled: false },
      dependencyProxyBlobCount: 0,
      dependencyProxyTotalSize: "0 Bytes",
      dependencyProxyImagePrefix: null,
      dependencyProxyImageTtlPolicy: null,
      dependencyProxyBlobs: NONE,
    },
  });
});

it("has no customers, and no vulnerabilities of work items", async () => {
  const { json: issue } = await app.call("POST /projects/acme%2Fsite/issues", {
    as: "owner",
    json: { title: "Asked for" },
  });
  const { workItem } = await ask(
    app,
    `query ($id: WorkItemID!) { workItem(id: $id) { widgets {
      ... on WorkItemWidgetCrmContacts { contacts(first: 5) { ${PAGE} nodes { id email organization { id name description } } } }
      ... on WorkItemWidgetVulnerabilities { relatedVulnerabilities(first: 5) { ${PAGE} nodes { id name state webUrl } } } } } }`,
    { id: `gid://gitlab/WorkItem/${issue.id}` },
  );
  // Work items have no such widgets: only the types are there.
  const widgets: object[] = workItem.widgets;
  expect(widgets.length).toBeGreaterThan(0);
  expect(widgets.filter((widget) => Object.keys(widget).length > 0)).toEqual([]);
});

const id = (className: string) => `gid://gitlab/${className}/1`;

it.each([
  ["vulnerabilityDismiss", { id: id("Vulnerability"), dismissalReason: "FALSE_POSITIVE" }],
  ["vulnerabilityConfirm", { id: id("Vulnerability") }],
  ["vulnerabilityResolve", { id: id("Vulnerability") }],
  ["vulnerabilityRevertToDetected", { id: id("Vulnerability") }],
  ["destroyContainerRepository", { id: id("ContainerRepository") }],
  ["destroyContainerRepositoryTags", { id: id("ContainerRepository"), tagNames: ["v1"] }],
  ["destroyCustomEmoji", { id: id("CustomEmoji") }],
  ["createCustomEmoji", { groupPath: "acme", name: "x", url: "https://example.com/x.png" }],
  [
    "timelineEventCreate",
    { incidentId: id("Issue"), note: "Down", occurredAt: "2026-01-01T00:00:00Z" },
  ],
  ["issueSetEscalationStatus", { projectPath: "acme/site", iid: "1", status: "RESOLVED" }],
  ["updateDependencyProxySettings", { groupPath: "acme", enabled: true }],
])("refuses %s", async (name, input) => {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { errors } }`;
  const { data, errors } = await send(app, "owner", query, { input });
  const problems = errors
    ? errors.map(({ message }: { message: string }) => message)
    : data[name].errors;
  expect(problems).toEqual([
    /^(create|timeline|issue|update)/.test(name)
      ? expect.stringMatching(/not supported on this server$/)
      : NOT_AVAILABLE,
  ]);
});
