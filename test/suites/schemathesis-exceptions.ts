/** A kind of failure that is expected of schemathesis. */
export interface Exception {
  /**
   * What fails: `ST202` is a request that is refused though its schema allows it, `ST201` the reverse, `ST101` an answer
   * of 500 or more, `ST105` a media type that is not documented.
   */
  readonly code: "ST101" | "ST105" | "ST201" | "ST202";
  /** The operations it is expected of, if not of all. */
  readonly operation?: RegExp;
  /** The answer, or what of the request its schema forbids. */
  readonly says: RegExp;
  readonly why: string;
}

/** Texts with a syntax of their own, by the names in errors. */
const WRITTEN =
  /"(actions|approved_by_ids|assignee_id|branch|color|commit_id|commit_sha|cron|custom_attributes|deploy_key\.key|duration|email|epic_id|external_url|iteration_id|key|level|position\[base_sha\]|reviewer_id|source_branch|target_branch|value|variables|weight)":\["is (an )?invalid/;

/** What schemathesis finds and stays. Each is met in a run, or the test fails. */
export const EXCEPTIONS: readonly Exception[] = [
  {
    code: "ST101",
    operation: /\/scim\/v2\//,
    says: /^501 /m,
    why: "501 is how SCIM says of what it specifies that a server has none of it",
  },
  {
    code: "ST105",
    operation: /\/scim\//,
    says: /^431 /m,
    why: "what is too long for HTTP is refused before it is known to be for SCIM",
  },
  {
    code: "ST202",
    operation: /\/scim\//,
    says: /"scimType":"invalid(Filter|Syntax|Value)"/,
    why: "SCIM's own schemas, filters and changes are below /Schemas, and not in OpenAPI",
  },
  {
    code: "ST202",
    operation: /\/git-(receive|upload)-pack$/,
    says: /^415 /m,
    why: "Git's requests have media types of their own",
  },
  {
    code: "ST202",
    operation: /\/graphql$/,
    says: /Invalid variables/,
    why: "in an address, the variables of GraphQL are JSON in a text",
  },
  {
    code: "ST202",
    operation: /\/info\/lfs\/objects\/batch$/,
    says: /^4(15|22) /m,
    why: "Git LFS has a media type of its own, and says itself what is wrong with a request",
  },
  {
    code: "ST202",
    operation: /\/packages\/npm\/|\/terraform\/state\/\{name\}$/,
    says: /must be a version, as JSON|document is invalid|does not match declared format|The state is no JSON object/,
    why: "what npm and Terraform send is theirs",
  },
  {
    code: "ST202",
    operation: /^GET |\/variables\/\{key\}$/,
    says: /expected an? (array|hash) for parameter/,
    why: "brackets in names that an object of a query has are lists and objects, as in Rails",
  },
  {
    code: "ST202",
    says: WRITTEN,
    why: "a syntax that no schema says: changes of files, ids or words, keys, durations, schedules, names of branches",
  },
  {
    code: "ST202",
    says: /valid color code|valid URL|absolute URI|Only allowed schemes|can contain only|invalid syntax|name (is )?invalid|[Ii]nvalid reference|Invalid \w+( \w+)? given|must consist of|too short|valid emoji|file format|Invalid Date|valid format|not a valid (level|value)|have a valid value|available scopes|can't be blank|an invalid regular expression|valid PEM|URI is invalid|Version is invalid|sha is not valid|not a semantic version|[Dd]ate (range )?must|`full_path` is incorrect/,
    why: "a rule for a text that no schema says, and whose errors GitLab words itself",
  },
  {
    code: "ST202",
    says: /not found|does not exist|an email you own|[Cc]ould not find|on a branch|not a fork|already (exists|been taken)|same title|same project\/branch|reserved name|are identical|Target .* is invalid|No Work Item found|not below the same parent|push rule exists|a member of the|have access to the|must be those of|no domain of the project|doesn't exist|no previous tag/,
    why: "a record that must be there, or must not",
  },
  {
    code: "ST202",
    // Of requests that were undone, ids of objects are given again: their trees are others then.
    says: /a tree is cut short|not mergeable|[Cc]annot|could not be|Unplayable|Method Not Allowed|failed: |Missing CI config|currently deployed|Only one project|Unprocessable Entity|not included in the list|can't be resolved|not been marked|already unarchived|not waiting for|must be failed|not mirrored|must be confidential|for incidents only|needs a domain|Couldn't verify|not enabled for this user/,
    why: "a record whose state does not allow it",
  },
  {
    code: "ST202",
    says: /not given|is missing|are missing|is required|can have only one of|No parameters provided|params is empty|[Pp]rovide at least|not specified|Missing required parameter|grant type|mutually exclusive|all or none|together|requires|must be greater|automatically generated|not yet available|Internal notes|only for rules of the type|must have at least/,
    why: "attributes of which one is needed with, or refused beside, another",
  },
  {
    code: "ST202",
    says: /"is not supported|can't have users, groups and deploy keys/,
    why: "what this server has none of is refused by its name",
  },
  {
    code: "ST202",
    operation: /^(POST|PUT) \/api\/v4\/(groups|projects|topics|users)/,
    says: /":\["is invalid"\][\s\S]*(multipart|form-data|=null)/,
    why: "a form has no null: a text that says so is no number",
  },
  {
    code: "ST201",
    says: /became null|(page|format).*(was|at)/,
    why: "null and an empty value count as not sent, as in GitLab",
  },
  {
    code: "ST201",
    says: /was (null \| )?string, became (integer|number|boolean)|was (integer|number|boolean|array), became (string|integer|number)/,
    why: "numbers and booleans become texts, texts numbers, and one value a list, as in GitLab",
  },
];
