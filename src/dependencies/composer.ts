import { objectsIn, type Package, parseObject, textOf } from "./read.ts";

/** composer.lock, including development dependencies. */
export function parseComposerLock(text: string): Package[] {
  const lock = parseObject(text);
  if (lock["packages"] === undefined) throw new Error("has no packages");
  return ["packages", "packages-dev"].flatMap((key) =>
    objectsIn(lock[key], key).map(({ name, version }) => ({
      name: textOf(name),
      version: textOf(version),
    })),
  );
}
