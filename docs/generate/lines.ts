/**
 * A value as JSON, with lines for its members and theirs, so deep: what is deeper has no spaces, which half of a large document
 * would be.
 */
export function inLines(value: unknown, depth: number): string {
  if (depth === 0 || typeof value !== "object" || value === null || Array.isArray(value)) {
    return JSON.stringify(value);
  }
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  const lines = members.map(
    ([name, member]) => `${JSON.stringify(name)}: ${inLines(member, depth - 1)}`,
  );
  return `{\n${lines.join(",\n")}\n}`;
}
