/** What is remembered of the parts up to here: their text, and the parts that may follow. */
interface Node {
  text?: string;
  readonly next: Map<string, Node>;
}

/** Maximum characters of all remembered texts together; beyond it all are forgotten. */
const MAX_CHARACTERS = 2_000_000;

let templates = new WeakMap<TemplateStringsArray, Node>();
let lists = new Map<string, Node>();
let characters = 0;

/**
 * A template of SQL whose text is put together once for the same parts. A statement that is put together anew for each
 * request is copied and hashed again to find what was prepared for it, which takes as long as many a query.
 *
 * @example
 * statement`select ${presenter.columns} from ${tables} where id = ?`
 */
export function statement(strings: TemplateStringsArray, ...parts: readonly string[]): string {
  let root = templates.get(strings);
  if (!root) {
    root = { next: new Map() };
    templates.set(strings, root);
  }
  const node = nodeOf(root, parts);
  return (
    node.text ??
    remember(
      node,
      strings.reduce((text, string, index) => text + parts[index - 1] + string),
    )
  );
}

/** The same for pieces of SQL with a separator between them. */
export function joined(parts: readonly string[], separator: string): string {
  let root = lists.get(separator);
  if (!root) {
    root = { next: new Map() };
    lists.set(separator, root);
  }
  const node = nodeOf(root, parts);
  return node.text ?? remember(node, parts.join(separator));
}

function nodeOf(root: Node, parts: readonly string[]): Node {
  let node = root;
  for (const part of parts) {
    let next = node.next.get(part);
    if (!next) {
      next = { next: new Map() };
      node.next.set(part, next);
    }
    node = next;
  }
  return node;
}

function remember(node: Node, text: string): string {
  characters += text.length;
  if (characters <= MAX_CHARACTERS) node.text = text;
  else {
    templates = new WeakMap();
    lists = new Map();
    characters = 0;
  }
  return text;
}
