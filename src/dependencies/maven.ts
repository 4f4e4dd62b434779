import { isObject, type Package, textOf } from "./read.ts";

type Properties = ReadonlyMap<string, string>;

const MAX_VALUE_LENGTH = 255;
const MAX_REFERENCE_DEPTH = 10;

/**
 * pom.xml: its dependencies, named `group/artifact`, with versions from its properties and its own dependency
 * management. Versions set in a parent or imported POM stay `""`.
 */
export async function parsePom(text: string): Promise<Package[]> {
  const { XMLParser, XMLValidator } = await import("fast-xml-parser");
  const valid = XMLValidator.validate(text);
  if (valid !== true) throw new Error(`line ${valid.err.line}: ${valid.err.msg}`);
  const parser = new XMLParser({
    // Values stay text: no entity is expanded, and 1.10 is not 1.1.
    processEntities: false,
    parseTagValue: false,
    removeNSPrefix: true,
  });
  const parsed = parser.parse(text) as { project?: unknown };
  // An element without child elements is text.
  const project = parsed.project === "" ? {} : parsed.project;
  if (!isObject(project)) throw new Error("has no <project>");

  const properties = propertiesOf(project);
  const read = (list: unknown) => dependenciesIn(list, properties);
  const managed = new Map(
    read(child(project["dependencyManagement"], "dependencies")).map((one) => [
      one.name,
      one.version,
    ]),
  );
  return read(project["dependencies"]).map(({ name, version }) => ({
    name,
    version: version || (managed.get(name) ?? ""),
  }));
}

function child(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** `<properties>`, and the properties by which Maven names the project's coordinates. */
function propertiesOf(project: Record<string, unknown>): Properties {
  const properties = new Map<string, string>();
  const parent = project["parent"];
  for (const name of ["groupId", "artifactId", "version"]) {
    const inherited = textOf(child(parent, name));
    const own = textOf(project[name]) || inherited;
    for (const prefix of ["project.", "pom.", ""]) properties.set(prefix + name, own);
    properties.set(`project.parent.${name}`, inherited);
  }
  const declared = project["properties"];
  if (isObject(declared)) {
    for (const [name, value] of Object.entries(declared)) properties.set(name, textOf(value));
  }
  return properties;
}

function dependenciesIn(list: unknown, properties: Properties): Package[] {
  const dependencies = [child(list, "dependency") ?? []].flat();
  return dependencies.map((dependency) => {
    const [group, artifact, version] = ["groupId", "artifactId", "version"].map((name) =>
      resolve(textOf(child(dependency, name)), properties),
    );
    if (!group || !artifact) throw new Error("has a dependency without groupId or artifactId");
    return { name: `${group}/${artifact}`, version: version ?? "" };
  });
}

/** Replaces `${name}`, recursively; `""` if a name is unknown or the text grows without end. */
function resolve(text: string, properties: Properties): string {
  if (text.length > MAX_VALUE_LENGTH) return "";
  let resolved = text;
  for (let depth = 0; depth < MAX_REFERENCE_DEPTH && resolved.includes("${"); depth += 1) {
    let known = true;
    resolved = resolved.replace(/\$\{([^${}]*)\}/g, (_, name: string) => {
      const value = properties.get(name);
      if (value && value.length <= MAX_VALUE_LENGTH) return value;
      known = false;
      return "";
    });
    if (!known || resolved.length > MAX_VALUE_LENGTH) return "";
  }
  return resolved.includes("${") ? "" : resolved;
}
