import { unreadable } from "../../core/errors.ts";
import {
  type Args,
  absent,
  arg,
  emptyConnection,
  enumeration,
  type GraphqlModule,
  mutation,
  notAvailable,
  PAGE_ARGS,
  property,
  required,
  unionType,
  type ValueType,
  valueType,
} from "../../graphql/declare.ts";

// What GitLab has and this server has not: programs ask for it while they go through projects and groups, and one unknown
// name would fail a whole document. Lists are empty, single ones are null, and changes are refused.

/** Fields by the types of GraphQL that they have. */
const fields = (types: Readonly<Record<string, string>>): ValueType["fields"] =>
  Object.fromEntries(
    Object.entries(types).flatMap(([type, names]) =>
      names.split(" ").map((name) => [name, property(type)]),
    ),
  );

/** What vulnerabilities, and findings of pipelines, may be. */
export const STATE = enumeration("VulnerabilityState", "What became of a vulnerability.", [
  "CONFIRMED",
  "DETECTED",
  "DISMISSED",
  "RESOLVED",
]);
const SEVERITY = enumeration("VulnerabilitySeverity", "How bad a vulnerability is.", [
  "CRITICAL",
  "HIGH",
  "INFO",
  "LOW",
  "MEDIUM",
  "UNKNOWN",
]);
const REPORT = enumeration("VulnerabilityReportType", "What has found a vulnerability.", [
  "API_FUZZING",
  "CLUSTER_IMAGE_SCANNING",
  "CONTAINER_SCANNING",
  "COVERAGE_FUZZING",
  "DAST",
  "DEPENDENCY_SCANNING",
  "GENERIC",
  "SARIF",
  "SAST",
  "SECRET_DETECTION",
]);
const SORT = enumeration(
  "VulnerabilitySort",
  "The order of vulnerabilities.",
  ["detected", "report_type", "severity", "state", "title"].flatMap((name) => [
    `${name}_asc`,
    `${name}_desc`,
  ]),
);
const REASON = enumeration("VulnerabilityDismissalReason", "Why a vulnerability is dismissed.", [
  "ACCEPTABLE_RISK",
  "FALSE_POSITIVE",
  "MITIGATING_CONTROL",
  "NOT_APPLICABLE",
  "USED_IN_TESTS",
]);

const scanner = valueType("VulnerabilityScanner", "What has found a vulnerability.", {
  ...fields({ ID: "id", String: "name externalId vendor reportType reportTypeHumanized" }),
});
const identifier = valueType("VulnerabilityIdentifier", "What a vulnerability is called.", {
  ...fields({ String: "externalId externalType name url" }),
});
const link = valueType("VulnerabilityLink", "Where a vulnerability is explained.", {
  name: property("String"),
  url: required(property("String")),
});
const dependency = valueType("VulnerableDependency", "A package with a vulnerability.", {
  package: property(valueType("VulnerablePackage", "A package.", fields({ String: "name path" }))),
  version: property("String"),
});

/** Where each kind of report finds vulnerabilities. */
const PLACES: Readonly<Record<string, ValueType["fields"]>> = {
  Sast: fields({ String: "file startLine endLine blobPath vulnerableClass vulnerableMethod" }),
  SecretDetection: fields({
    String: "file startLine endLine blobPath vulnerableClass vulnerableMethod",
  }),
  Dast: fields({ String: "hostname param path requestMethod" }),
  DependencyScanning: { ...fields({ String: "file blobPath" }), dependency: property(dependency) },
  ContainerScanning: {
    ...fields({ String: "image operatingSystem" }),
    dependency: property(dependency),
  },
  CoverageFuzzing: fields({ String: "file startLine endLine blobPath" }),
  Generic: fields({ String: "description" }),
  ClusterImageScanning: fields({ String: "image operatingSystem" }),
};
const places = Object.entries(PLACES).map(([name, own]) =>
  valueType(`VulnerabilityLocation${name}`, "Where a vulnerability is.", own),
);

const word = (type: typeof STATE | typeof SEVERITY | typeof REPORT) => ({
  ...property(type.name),
  declares: type,
});
const found = {
  state: word(STATE),
  severity: word(SEVERITY),
  reportType: word(REPORT),
  scanner: property(scanner),
  identifiers: { ...property("[VulnerabilityIdentifier!]"), declares: identifier },
  location: property("VulnerabilityLocation"),
  ...fields({ String: "title description solution" }),
};
const vulnerability = valueType("Vulnerability", "A vulnerability of a project.", {
  id: required(property("ID")),
  ...found,
  ...fields({
    Time: "detectedAt confirmedAt dismissedAt resolvedAt updatedAt",
    String: "name descriptionHtml primaryIdentifierName stateComment vulnerabilityPath webUrl",
    "Boolean!": "resolvedOnDefaultBranch hasRemediations",
    Boolean: "falsePositive hasSolutions",
    Int: "userNotesCount",
    Project: "project",
    MergeRequest: "mergeRequest",
    UserCore: "confirmedBy dismissedBy resolvedBy",
  }),
  primaryIdentifier: property(identifier),
  dismissalReason: { ...property(REASON.name), declares: REASON },
  links: { ...property("[VulnerabilityLink!]"), declares: link },
  issueLinks: emptyConnection(
    valueType("VulnerabilityIssueLink", "An issue about a vulnerability.", {
      id: required(property("ID")),
      issue: property("Issue"),
    }),
  ),
});
/** What reports find: of no vulnerability, since none is kept. */
export const finding = valueType(
  "PipelineSecurityReportFinding",
  "What a report of a pipeline has found.",
  {
    ...found,
    ...fields({ String: "uuid name confidence evidence", Boolean: "falsePositive" }),
    vulnerability: property(vulnerability),
  },
);
const filters = {
  state: arg.list(arg.choice(STATE)),
  severity: arg.list(arg.choice(SEVERITY)),
  reportType: arg.list(arg.choice(REPORT)),
  scanner: arg.list(arg.string),
  scannerId: arg.list(arg.id),
  sort: arg.choice(SORT),
  hasIssues: arg.boolean,
  hasResolution: arg.boolean,
};
const vulnerabilities = emptyConnection(vulnerability, filters);
const counts = property(
  valueType("VulnerabilitySeveritiesCount", "How many vulnerabilities there are.", {
    ...fields({ Int: "critical high info low medium unknown" }),
  }),
  () => ({ critical: 0, high: 0, info: 0, low: 0, medium: 0, unknown: 0 }),
);
/** Changes what is not there. @throws GraphError always */
async function missing(): Promise<never> {
  throw notAvailable();
}

/** Makes what this server has not. @param what with its verb: `Custom emoji are` */
const refusing = (what: string) => async (): Promise<never> => {
  throw unreadable(`${what} not supported on this server`);
};

const VULNERABILITY_ID = arg.required(arg.gid("Vulnerability"));
const changed = (about: string, input: Args = {}) =>
  mutation({
    about: `${about} There are none: refused.`,
    input: { id: VULNERABILITY_ID, comment: arg.string, ...input },
    payload: { vulnerability: property(vulnerability) },
    run: missing,
  });

const tag = valueType("ContainerRepositoryTag", "A tag of a container image.", {
  ...fields({
    String: "name path location digest revision shortRevision mediaType",
    BigInt: "totalSize",
    Time: "createdAt publishedAt",
  }),
});
const repository = valueType("ContainerRepository", "A repository of container images.", {
  id: required(property("ID")),
  ...fields({
    String: "name path location status",
    Int: "tagsCount",
    Time: "createdAt updatedAt lastPublishedAt",
  }),
  tags: emptyConnection(tag, { name: arg.string }),
});
const repositories = emptyConnection(repository, { name: arg.string });
const REPOSITORY_ID = arg.required(arg.gid("ContainerRepository"));

const input = valueType("CiCatalogResourceComponentInput", "An input of a component.", {
  ...fields({
    String: "name description type default regex",
    Boolean: "required",
    "[String!]": "options",
  }),
});
const component = valueType("CiCatalogResourceComponent", "A component of a CI/CD catalogue.", {
  id: required(property("ID")),
  ...fields({ String: "name description includePath", Int: "last30DayUsageCount" }),
  inputs: { ...property("[CiCatalogResourceComponentInput!]"), declares: input },
});
const version = valueType("CiCatalogResourceVersion", "A version of components.", {
  id: required(property("ID")),
  ...fields({ String: "name path readme readmeHtml", Time: "createdAt releasedAt" }),
  semver: property(
    valueType(
      "CiCatalogResourceSemver",
      "A number of a version.",
      fields({ Int: "major minor patch" }),
    ),
  ),
  components: emptyConnection(component),
});
const catalogued = valueType("CiCatalogResource", "A project with components for CI/CD.", {
  id: required(property("ID")),
  ...fields({
    String: "name description icon fullPath webPath webUrl verificationLevel visibilityLevel",
    Int: "starCount forksCount openIssuesCount openMergeRequestsCount last30DayUsageCount",
    Time: "latestReleasedAt",
    "[String!]": "topics",
  }),
  readmeHtml: property("String"),
  latestVersion: property(version),
  versions: emptyConnection(version, { name: arg.string }),
});
const SCOPE = enumeration("CiCatalogResourceScope", "Which projects a catalogue has.", [
  "ALL",
  "NAMESPACES",
]);
const CATALOG_SORT = enumeration(
  "CiCatalogResourceSort",
  "The order of a catalogue.",
  ["CREATED", "LATEST_RELEASED_AT", "NAME", "STAR_COUNT", "USAGE_COUNT"].flatMap((name) => [
    `${name}_ASC`,
    `${name}_DESC`,
  ]),
);
const VERIFICATION = enumeration("CiCatalogResourceVerificationLevel", "Who stands behind it.", [
  "GITLAB_MAINTAINED",
  "GITLAB_PARTNER_MAINTAINED",
  "UNVERIFIED",
  "VERIFIED_CREATOR_MAINTAINED",
  "VERIFIED_CREATOR_SELF_MANAGED",
]);

const emoji = valueType("CustomEmoji", "An emoji of a group.", {
  id: required(property("ID")),
  ...fields({ String: "name url", Boolean: "external", Time: "createdAt" }),
});

const timelineTag = valueType("TimelineEventTagType", "What an event of an incident is about.", {
  id: required(property("ID")),
  name: required(property("String")),
});
const timelineEvent = valueType("TimelineEventType", "What happened in an incident.", {
  id: required(property("ID")),
  ...fields({ String: "note noteHtml action", Time: "occurredAt createdAt updatedAt" }),
  author: property("UserCore"),
  timelineEventTags: emptyConnection(timelineTag),
});
const ESCALATION = enumeration("IssueEscalationStatus", "How far an incident is.", [
  "ACKNOWLEDGED",
  "IGNORED",
  "RESOLVED",
  "TRIGGERED",
]);

const proxySetting = valueType("DependencyProxySetting", "Whether a group keeps images.", {
  enabled: required(property("Boolean")),
});
const proxyPolicy = valueType("DependencyProxyImageTtlGroupPolicy", "How long images are kept.", {
  enabled: required(property("Boolean")),
  ttl: property("Int"),
});
const proxyBlob = valueType("DependencyProxyBlob", "A part of an image that is kept.", {
  ...fields({ String: "fileName size", Time: "createdAt updatedAt" }),
});

/** What there is none of here, for documents that name it. */
export const graphqlModule: GraphqlModule = {
  types: [
    unionType(
      "VulnerabilityLocation",
      "Where a vulnerability is.",
      places.map(({ name }) => name),
    ),
    ...places,
    vulnerability,
    repository,
    catalogued,
    emoji,
  ],
  extend: {
    Query: {
      vulnerabilities: {
        ...vulnerabilities,
        args: { ...vulnerabilities.args, projectId: arg.list(arg.id) },
      },
      vulnerability: { ...absent(vulnerability), args: { id: VULNERABILITY_ID } },
      containerRepository: { ...absent(repository), args: { id: REPOSITORY_ID } },
      ciCatalogResources: emptyConnection(catalogued, {
        scope: arg.choice(SCOPE),
        search: arg.string,
        sort: arg.choice(CATALOG_SORT),
        topics: arg.list(arg.string),
        groupIds: arg.list(arg.gid("Group")),
        verificationLevel: arg.choice(VERIFICATION),
      }),
      ciCatalogResource: {
        ...absent(catalogued),
        args: { id: arg.gid("CiCatalogResource", ["Ci::Catalog::Resource"]), fullPath: arg.id },
      },
    },
    Project: {
      vulnerabilities,
      vulnerabilitySeveritiesCount: counts,
      containerRepositories: repositories,
      incidentManagementTimelineEvents: emptyConnection(timelineEvent, {
        incidentId: arg.required(arg.gid("Issue")),
      }),
    },
    Group: {
      vulnerabilities,
      vulnerabilitySeveritiesCount: counts,
      containerRepositories: repositories,
      customEmoji: emptyConnection(emoji, { includeAncestorGroups: arg.boolean }),
      dependencyProxySetting: property(proxySetting, () => ({ enabled: false })),
      dependencyProxyBlobCount: property("Int", () => 0),
      dependencyProxyTotalSize: property("String", () => "0 Bytes"),
      dependencyProxyImageCount: property("Int", () => 0),
      dependencyProxyImagePrefix: property("String", () => null),
      dependencyProxyImageTtlPolicy: property(proxyPolicy, () => null),
      dependencyProxyBlobs: emptyConnection(proxyBlob),
      epicsEnabled: property("Boolean", () => false),
    },
    WorkItemWidgetVulnerabilities: {
      relatedVulnerabilities: { ...vulnerabilities, args: PAGE_ARGS },
    },
    Issue: {
      escalationStatus: { ...property(ESCALATION.name, () => null), declares: ESCALATION },
    },
  },
  mutations: {
    vulnerabilityDismiss: changed("Dismiss a vulnerability.", {
      dismissalReason: arg.choice(REASON),
    }),
    vulnerabilityConfirm: changed("Confirm a vulnerability."),
    vulnerabilityResolve: changed("Resolve a vulnerability."),
    vulnerabilityRevertToDetected: changed("Take back what was done to a vulnerability."),
    destroyContainerRepository: mutation({
      about: "Delete a repository of container images. There are none: refused.",
      input: { id: REPOSITORY_ID },
      payload: { containerRepository: property(repository) },
      run: missing,
    }),
    destroyContainerRepositoryTags: mutation({
      about: "Delete tags of container images. There are none: refused.",
      input: { id: REPOSITORY_ID, tagNames: arg.required(arg.list(arg.string)) },
      payload: { deletedTagNames: property("[String!]") },
      run: missing,
    }),
    createCustomEmoji: mutation({
      about: "Add an emoji to a group. Not supported: refused.",
      input: {
        groupPath: arg.required(arg.id),
        name: arg.required(arg.string),
        url: arg.required(arg.string),
      },
      payload: { customEmoji: property(emoji) },
      run: refusing("Custom emoji are"),
    }),
    timelineEventCreate: mutation({
      about: "Write down what happened in an incident. Not supported: refused.",
      input: {
        incidentId: arg.required(arg.gid("Issue")),
        note: arg.required(arg.string),
        occurredAt: arg.required(arg.time),
        timelineEventTagNames: arg.list(arg.string),
      },
      payload: { timelineEvent: property(timelineEvent) },
      run: refusing("Timelines of incidents are"),
    }),
    issueSetEscalationStatus: mutation({
      about: "Say how far an incident is. Not supported: refused.",
      input: {
        projectPath: arg.required(arg.id),
        iid: arg.required(arg.string),
        status: arg.required(arg.choice(ESCALATION)),
      },
      payload: { issue: property("Issue") },
      run: refusing("Statuses of incidents are"),
    }),
    updateDependencyProxySettings: mutation({
      about: "Change whether a group keeps images. Not supported: refused.",
      input: { groupPath: arg.required(arg.id), enabled: arg.boolean },
      payload: { dependencyProxySetting: property(proxySetting) },
      run: refusing("The dependency proxy is"),
    }),
    destroyCustomEmoji: mutation({
      about: "Delete an emoji of a group. There are none: refused.",
      input: { id: arg.required(arg.gid("CustomEmoji")) },
      payload: { customEmoji: property(emoji) },
      run: missing,
    }),
  },
};
