/** Whether a rule's name stands for several names. */
export function isWildcard(name: string): boolean {
  return name.includes("*");
}

/** Whether a rule's name fits a branch or tag: each `*` stands for any characters, also slashes and none. */
export function fits(pattern: string, name: string): boolean {
  const parts = pattern.split("*");
  if (parts.length === 1) return pattern === name;
  const [first = "", last = ""] = [parts[0], parts.at(-1)];
  const end = name.length - last.length;
  if (end < first.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= end;
}
