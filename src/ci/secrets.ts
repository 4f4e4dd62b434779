import { Entry, given, jsonOf } from "./entry.ts";
import type { Findings } from "./findings.ts";
import { KEYWORDS } from "./keywords.ts";
import type { JobSecret, SecretProvider } from "./types.ts";
import { isMapping, type Value } from "./values.ts";

/** What each provider's secrets are named by, and which of that must be there. */
const SECRET_KEYS: Readonly<
  Record<SecretProvider, { readonly keys: readonly string[]; readonly required: readonly string[] }>
> = {
  vault: { keys: ["engine", "path", "field"], required: ["engine", "path", "field"] },
  azure_key_vault: { keys: ["name", "version"], required: ["name"] },
  gcp_secret_manager: { keys: ["name", "version"], required: ["name"] },
  aws_secrets_manager: {
    keys: [
      ...["secret_id", "version_id", "version_stage", "region"],
      ...["role_arn", "role_session_name", "field"],
    ],
    required: ["secret_id"],
  },
  akeyless: {
    keys: ["name", "data_key", "cert_user_name", "public_key_data", "csr_data"],
    required: [],
  },
};
const PROVIDERS = Object.keys(SECRET_KEYS) as SecretProvider[];
/** A provider that GitLab has itself. */
const OF_GITLAB = "gitlab_secrets_manager";
const MOST_SECRETS = 200;

/** Reads `secrets`: what a runner fetches from elsewhere. */
export function readSecrets(
  value: Value,
  at: string,
  findings: Findings,
): Readonly<Record<string, JobSecret>> | undefined {
  if (!isMapping(value)) return findings.error(at, "config should be a hash");
  if (value.size > MOST_SECRETS) {
    return findings.error(at, `config must be less than the limit of ${MOST_SECRETS} secrets`);
  }
  return Object.fromEntries(
    [...value].flatMap(([name, one]) => {
      const secret = readSecret(one, `${at}:${name}`, findings);
      return secret ? [[name, secret] as const] : [];
    }),
  );
}

function readSecret(value: Value, at: string, findings: Findings): JobSecret | undefined {
  if (!isMapping(value)) return findings.error(at, "config should be a hash");
  const entry = new Entry(value, at, findings);
  if (value.has(OF_GITLAB)) return entry.errorIn(OF_GITLAB, "is not supported on this server");
  entry.allow(KEYWORDS.secrets);
  const [provider, ...others] = PROVIDERS.filter((key) => value.has(key));
  if (provider === undefined || others.length > 0) {
    return entry.error(`config must use exactly one of these keys: ${PROVIDERS.join(", ")}`);
  }
  const token = entry.text("token");
  if (provider === "gcp_secret_manager" && !token) entry.errorOf("token", "can't be blank");
  const named = readName(entry, provider);
  return named && { provider, named, ...given({ file: entry.boolean("file"), token }) };
}

function readName(entry: Entry, provider: SecretProvider): JobSecret["named"] | undefined {
  const value = entry.get(provider);
  if (typeof value === "string") {
    if (provider === "vault") {
      const [, path, field, engine = "kv-v2"] = /^([^@]+)\/([^@/]+)(?:@(.+))?$/.exec(value) ?? [];
      if (path && field) return { engine: { name: "kv-v2", path: engine }, path, field };
    }
    if (provider === "aws_secrets_manager" && value !== "") {
      const [secretId = "", ...field] = value.split("#");
      return { secret_id: secretId, ...(field.length > 0 && { field: field.join("#") }) };
    }
  }
  if (!isMapping(value)) return entry.errorIn(provider, "should be a hash");
  const named = new Entry(value, entry.at(provider), entry.findings);
  const { keys, required } = SECRET_KEYS[provider];
  named.allow(keys);
  for (const key of keys) {
    if (key === "engine") readEngine(named);
    else if (key === "version") readVersion(named);
    else named.text(key);
  }
  for (const key of required) if (!named.get(key)) named.errorOf(key, "can't be blank");
  const read = jsonOf(value) as JobSecret["named"];
  return provider === "gcp_secret_manager" ? { version: "latest", ...read } : read;
}

function readEngine(entry: Entry) {
  const engine = entry.child("engine");
  if (!engine) return;
  engine.allow(["name", "path"]);
  for (const key of ["name", "path"]) {
    if (!engine.text(key)) engine.errorOf(key, "can't be blank");
  }
}

function readVersion(entry: Entry) {
  const version = entry.get("version");
  if (version === undefined || ["string", "number"].includes(typeof version)) return;
  entry.errorOf("version", "should be a string");
}
