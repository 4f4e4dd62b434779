import { readPattern } from "./patterns.ts";
import type { Expression, Operator, Pattern } from "./types.ts";

/** An expression can't be read. */
class ExpressionError extends Error {
  override get name() {
    return "ExpressionError" as const;
  }
}

type Token = Operator | "(" | ")" | "!" | Expression;

/** How strongly operators bind. */
const PRECEDENCE: Record<Operator, number> = {
  "||": 1,
  "&&": 2,
  "==": 3,
  "!=": 3,
  "=~": 3,
  "!~": 3,
};

/** Maximum length of an expression in characters. */
const MAX_LENGTH = 10_000;
/** Maximum number of operators, parentheses and values. GitLab looks at a hundred, of which the last must be the end. */
const MAX_TOKENS = 99;
/** Maximum depth of parentheses. */
const MAX_DEPTH = 100;

const TOKEN =
  /\s*(?:(?<operator>==|!=|=~|!~|&&|\|\||[()])|\$(?<name>\w+)|"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<null>null)\b|(?<pattern>\/(?:[^/\\]|\\.)+\/[ismU]*))/y;

/** What rules of inputs are made of: no variables, but other inputs, `true` and `false`, and `!`. */
const INPUT_TOKEN =
  /\s*(?:(?<operator>==|!=|=~|!~|&&|\|\||[()!])|\$\[\[\s*inputs\.(?<name>[\w-]+)\s*\]\]|"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<boolean>true|false)\b|(?<null>null)\b|(?<pattern>\/(?:[^/\\]|\\.)+\/[ismU]*))/y;

/**
 * Reads an expression. Takes time that grows with its length only.
 *
 * @throws ExpressionError if it is none
 */
function readExpression(text: string, token: RegExp): Expression {
  if (text.length > MAX_LENGTH) throw new ExpressionError("the expression is too long");
  const tokens = tokensOf(text.trim(), token);
  let at = 0;
  const operand = (depth: number): Expression => {
    const token = tokens[at];
    at += 1;
    if (token === "!" && depth < MAX_DEPTH) return { kind: "not", operand: operand(depth + 1) };
    if (token === "(" && depth < MAX_DEPTH) {
      const inner = operation(1, depth + 1);
      if (tokens[at] !== ")") throw new ExpressionError("a parenthesis is not closed");
      at += 1;
      return inner;
    }
    if (typeof token !== "object") throw new ExpressionError("a value is missing");
    return token;
  };
  const operation = (least: number, depth: number): Expression => {
    let left = operand(depth);
    for (;;) {
      const operator = tokens[at];
      const strength = typeof operator === "string" ? PRECEDENCE[operator as Operator] : undefined;
      if (strength === undefined || strength < least) return left;
      at += 1;
      const right = operation(strength + 1, depth);
      left = { kind: "operation", operator: operator as Operator, left, right };
    }
  };
  const expression = operation(1, 0);
  if (at < tokens.length) throw new ExpressionError("an operator is missing");
  return expression;
}

/** Reads an expression; `undefined` if it is none. */
export function readCondition(text: string): Expression | undefined {
  return readWith(text, TOKEN);
}

/** Reads an expression about inputs, which are its variables; `undefined` if it is none. */
export function readInputCondition(text: string): Expression | undefined {
  return readWith(text, INPUT_TOKEN);
}

function readWith(text: string, token: RegExp): Expression | undefined {
  try {
    return readExpression(text, token);
  } catch (error) {
    if (error instanceof ExpressionError) return undefined;
    throw error;
  }
}

function tokensOf(text: string, token: RegExp): Token[] {
  const tokens: Token[] = [];
  const matcher = new RegExp(token);
  while (matcher.lastIndex < text.length) {
    const groups = matcher.exec(text)?.groups;
    if (!groups) throw new ExpressionError("the expression has an unknown part");
    tokens.push(tokenOf(groups));
    if (tokens.length > MAX_TOKENS) throw new ExpressionError("the expression has too many parts");
  }
  return tokens;
}

function tokenOf(groups: Record<string, string | undefined>): Token {
  const { operator, pattern } = groups;
  if (operator !== undefined) return operator as Token;
  if (pattern !== undefined) {
    const read = pattern.lastIndexOf("/") < 3 ? undefined : readPattern(pattern);
    if (!read) throw new ExpressionError("a regular expression is invalid");
    return { kind: "pattern", pattern: read };
  }
  const name = groups["name"];
  if (name !== undefined) return { kind: "variable", name };
  const boolean = groups["boolean"];
  if (boolean !== undefined) return { kind: "text", value: boolean === "true" };
  return { kind: "text", value: groups["double"] ?? groups["single"] ?? null };
}

type Result = string | boolean | null | Pattern;

/** What names in an expression stand for. */
interface Names {
  get(name: string): string | boolean | undefined;
}

/** Whether an expression is true: its value is neither `null`, false nor blank. */
export function isTrue(expression: Expression, variables: Names): boolean {
  const value = evaluate(expression, variables);
  return typeof value === "string" ? value.trim() !== "" : Boolean(value);
}

function evaluate(expression: Expression, variables: Names): Result {
  switch (expression.kind) {
    case "text":
      return expression.value;
    case "variable":
      return variables.get(expression.name) ?? null;
    case "pattern":
      return expression.pattern;
    case "not":
      return !isTrue(expression.operand, variables);
    case "operation":
      return operate(expression, variables);
  }
}

function operate(
  { operator, left, right }: Extract<Expression, { kind: "operation" }>,
  variables: Names,
): Result {
  const value = evaluate(left, variables);
  // Texts count as true here even if they are empty, as in GitLab.
  if (operator === "&&" && (value === null || value === false)) return value;
  if (operator === "||" && value !== null && value !== false) return value;
  const other = evaluate(right, variables);
  if (operator === "&&" || operator === "||") return other;
  if (operator === "==") return value === other;
  if (operator === "!=") return value !== other;
  const isFound = isIn(typeof value === "string" ? value : "", other);
  return operator === "=~" ? isFound : !isFound;
}

/** Whether a text fits a regular expression or, as in GitLab, is a part of a text that is none. */
function isIn(text: string, other: Result): boolean {
  if (other === null || typeof other === "boolean") return false;
  if (typeof other === "object") return other.fits(text);
  const pattern = readPattern(other);
  return pattern ? pattern.fits(text) : other.includes(text);
}
