import {
  byKey,
  expandVariables,
  type JobOptions,
  type SecretProvider,
  Values,
  type Variable,
} from "../../ci/index.ts";

/** Why a job can't be given to a runner, in the words of `failure_reason`. */
export class JobRefusal extends Error {
  override get name() {
    return "JobRefusal" as const;
  }

  constructor(readonly reason: "secrets_provider_not_found" | "runner_unsupported") {
    super(reason);
  }
}

/** What a runner must say that it can, to get jobs with secrets: GitLab's names no other for other providers. */
const FEATURE = "vault_secrets";

/** The server of each provider: variables with its facts, in the runners' names, and those that must be there. */
const SERVERS: Readonly<
  Record<
    Exclude<SecretProvider, "vault">,
    { readonly facts: Readonly<Record<string, string>>; readonly required: readonly string[] }
  >
> = {
  azure_key_vault: {
    facts: {
      url: "AZURE_KEY_VAULT_SERVER_URL",
      client_id: "AZURE_CLIENT_ID",
      tenant_id: "AZURE_TENANT_ID",
    },
    required: ["url", "client_id", "tenant_id"],
  },
  gcp_secret_manager: {
    facts: {
      project_number: "GCP_PROJECT_NUMBER",
      workload_identity_federation_pool_id: "GCP_WORKLOAD_IDENTITY_FEDERATION_POOL_ID",
      workload_identity_federation_provider_id: "GCP_WORKLOAD_IDENTITY_FEDERATION_PROVIDER_ID",
    },
    required: [
      "project_number",
      "workload_identity_federation_pool_id",
      "workload_identity_federation_provider_id",
    ],
  },
  aws_secrets_manager: {
    facts: {
      region: "AWS_REGION",
      role_arn: "AWS_ROLE_ARN",
      role_session_name: "AWS_ROLE_SESSION_NAME",
    },
    required: [],
  },
  akeyless: {
    facts: {
      access_id: "AKEYLESS_ACCESS_ID",
      access_key: "AKEYLESS_ACCESS_KEY",
      access_type: "AKEYLESS_ACCESS_TYPE",
      akeyless_api_url: "AKEYLESS_API_URL",
      azure_object_id: "AKEYLESS_AZURE_OBJECT_ID",
      gateway_ca_certificate: "AKEYLESS_GATEWAY_CA_CERTIFICATE",
      gcp_audience: "AKEYLESS_GCP_AUDIENCE",
      k8s_auth_config_name: "AKEYLESS_K8S_AUTH_CONFIG_NAME",
      k8s_service_account_token: "AKEYLESS_K8S_SERVICE_ACCOUNT_TOKEN",
      uid_token: "AKEYLESS_UID_TOKEN",
    },
    required: ["access_id"],
  },
};

/**
 * What a runner needs to fetch a job's secrets from elsewhere, in the form of GitLab's. Nothing is fetched here, and no
 * secret is known: tokens are named, and the runner puts their values in place.
 *
 * @param variables all that the job has
 * @param features what the runner says that it can
 * @throws JobRefusal if the runner can't, or nothing says where a provider is
 */
export function secretsOf(
  { secrets, id_tokens }: Pick<JobOptions, "secrets" | "id_tokens">,
  variables: readonly Variable[],
  features: Readonly<Record<string, unknown>>,
): Readonly<Record<string, object>> | undefined {
  const asked = Object.entries(secrets ?? {});
  if (asked.length === 0) return undefined;
  if (features[FEATURE] !== true) throw new JobRefusal("runner_unsupported");
  const values = new Values(byKey(variables));
  const find = (name: string) => {
    const value = values.get(name);
    return value === undefined || value === "" ? undefined : expandVariables(value, values);
  };
  const [first] = Object.keys(id_tokens ?? {});
  const anyToken = first === undefined ? undefined : `$${first}`;
  return Object.fromEntries(
    asked.map(([name, { provider, named, token, file = true }]) => {
      const jwt = token ?? (NEEDS_TOKEN.has(provider) ? anyToken : undefined);
      const server = provider === "vault" ? vaultOf(find, jwt) : serverOf(provider, find, jwt);
      return [name, { [provider]: { ...named, server }, file }];
    }),
  );
}

/** Providers to which a job proves itself by a token of its own in any case. */
const NEEDS_TOKEN: ReadonlySet<SecretProvider> = new Set(["vault", "azure_key_vault"]);

type Find = (name: string) => string | undefined;

function vaultOf(find: Find, jwt: string | undefined) {
  const url = find("VAULT_SERVER_URL");
  if (url === undefined) throw new JobRefusal("secrets_provider_not_found");
  const namespace = find("VAULT_NAMESPACE");
  const role = find("VAULT_AUTH_ROLE");
  return {
    url,
    ...(namespace !== undefined && { namespace }),
    auth: {
      name: "jwt",
      path: find("VAULT_AUTH_PATH") ?? "jwt",
      data: { ...(jwt !== undefined && { jwt }), ...(role !== undefined && { role }) },
    },
  };
}

function serverOf(provider: Exclude<SecretProvider, "vault">, find: Find, jwt: string | undefined) {
  const { facts, required } = SERVERS[provider];
  const known = Object.entries(facts).flatMap(([key, variable]) => {
    const value = find(variable);
    if (value === undefined && required.includes(key)) {
      throw new JobRefusal("secrets_provider_not_found");
    }
    return value === undefined ? [] : [[key, value] as const];
  });
  return { ...Object.fromEntries(known), ...(jwt !== undefined && { jwt }) };
}
