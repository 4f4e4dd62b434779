import { Entry, given, itemsOf, jsonOf } from "./entry.ts";
import type { Findings } from "./findings.ts";
import { KEYWORDS, REFUSED } from "./keywords.ts";
import type { Json } from "./types.ts";
import { isList, isMapping, type Mapping, type Value } from "./values.ts";
import { readVariables } from "./variables.ts";

type Image = { readonly [key: string]: Json };

const PULL_POLICIES: readonly Value[] = ["always", "never", "if-not-present"];

/** Reads `image`. */
export function readImage(value: Value, at: string, findings: Findings): Image | undefined {
  return readContainer(value, at, findings, KEYWORDS.image)?.image;
}

/** Reads `services`. */
export function readServices(value: Value, at: string, findings: Findings): readonly Image[] {
  const services = isList(value) ? itemsOf(value) : undefined;
  if (!services) {
    findings.error(at, "config should be a array");
    return [];
  }
  return services.flatMap((one) => {
    const service = readContainer(one, `${at}:service`, findings, KEYWORDS.services);
    if (!service) return [];
    const { entry, image } = service;
    const variables = readVariables(entry.get("variables"), entry.at("variables"), findings);
    return [
      {
        ...image,
        ...given({ alias: entry.text("alias"), command: entry.strings("command") }),
        ...(variables.size > 0 && {
          variables: [...variables.values()].map((variable) => ({
            key: variable.key,
            value: variable.value,
            public: true,
            raw: !variable.expand,
          })),
        }),
      },
    ];
  });
}

function readContainer(
  value: Value,
  at: string,
  findings: Findings,
  keys: readonly string[],
): { entry: Entry; image: Image } | undefined {
  if (typeof value !== "string" && !isMapping(value)) {
    return findings.error(at, "config should be a hash or a string");
  }
  const mapping: Mapping = isMapping(value) ? value : new Map([["name", value]]);
  const entry = new Entry(mapping, at, findings);
  entry.allow([...keys, ...REFUSED.image]);
  if (mapping.has("ports")) entry.error("config contains disallowed keys: ports");
  const name = entry.text("name");
  if (mapping.get("name") === undefined || name === "") entry.errorOf("name", "can't be blank");
  const options = [...mapping].filter(([key]) => key === "docker" || key === "kubernetes");
  const image = {
    name: name ?? "",
    ...given({ entrypoint: entry.strings("entrypoint"), pull_policy: readPullPolicy(entry) }),
    ...(options.length > 0 && { executor_opts: jsonOf(new Map(options)) }),
  };
  return { entry, image };
}

function readPullPolicy(entry: Entry): readonly string[] | undefined {
  const value = entry.get("pull_policy");
  if (value === undefined) return undefined;
  const policies = isList(value) ? value : [value];
  const isKnown = policies.length > 0 && policies.every((one) => PULL_POLICIES.includes(one));
  if (isKnown) return policies as readonly string[];
  return entry.errorIn("pull_policy", `should be one of: ${PULL_POLICIES.join(", ")}`);
}
