/** The options of `git push -o` that there are, by the part of GitLab that they are for. */
const NAMES = {
  ci: ["skip", "variable"],
  integrations: ["skip_ci"],
  // There is no search for secrets, so there is nothing to skip.
  secret_push_protection: ["skip_all"],
  merge_request: [
    ...["create", "target", "target_project", "title", "description", "draft", "milestone"],
    ...["label", "unlabel", "assign", "unassign", "remove_source_branch", "squash"],
    ...["merge_when_pipeline_succeeds", "auto_merge"],
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;
type Part = keyof typeof NAMES;

const ALIASES: Readonly<Record<string, Part>> = { mr: "merge_request" };

/** An option of a push. */
export interface PushOption {
  readonly part: Part;
  readonly name: string;
  /** `true` if it has none. */
  readonly value: string | true;
}

/** Reads an option such as `merge_request.target=main`; `undefined` if there is none of that name. */
export function readPushOption(written: string): PushOption | undefined {
  const [, owner = "", name = "", value = ""] =
    /^([^.=]+)\.([^=]+)(?:=(.*))?$/s.exec(written)?.map((text) => text?.trim()) ?? [];
  const part = ALIASES[owner] ?? (owner as Part);
  const names: readonly string[] = Object.hasOwn(NAMES, part) ? NAMES[part] : [];
  return names.includes(name) ? { part, name, value: value === "" ? true : value } : undefined;
}

/** The values of an option that may be given several times, in their order. */
export function valuesOf(
  options: readonly string[],
  part: Part,
  name: string,
): PushOption["value"][] {
  return options.flatMap((written) => {
    const option = readPushOption(written);
    return option?.part === part && option.name === name ? [option.value] : [];
  });
}

/** Options that may be given several times: hooks are told how often each value was. */
const REPEATED = ["ci.variable", ...["label", "unlabel", "assign", "unassign"].map(inRequests)];

function inRequests(name: string): string {
  return `merge_request.${name}`;
}

/** The options as hooks are told them: `{"ci": {"skip": true, "variable": {"A=b": 1}}}`. */
export function toldOptions(options: readonly string[]): Record<string, Record<string, unknown>> {
  const told: Record<string, Record<string, unknown>> = {};
  for (const written of options) {
    const option = readPushOption(written);
    if (!option) continue;
    const { part, name, value } = option;
    told[part] ??= {};
    const values = told[part];
    if (REPEATED.includes(`${part}.${name}`)) {
      values[name] ??= Object.create(null);
      const counts = values[name] as Record<string, number>;
      counts[String(value)] = (counts[String(value)] ?? 0) + 1;
    } else values[name] = value;
  }
  return told;
}
