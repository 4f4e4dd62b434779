import * as field from "../../core/field.ts";

const TASK = /^\s*(?:[-*+]|\d+[.)])\s+\[([ xX])\]/;

/** How many of the tasks in a description are done. */
export function tasksOf(description: string): { count: number; completedCount: number } {
  let count = 0;
  let completedCount = 0;
  // Most descriptions have none, and then are not taken apart.
  if (!/\[[ xX]\]/.test(description)) return { count, completedCount };
  for (const line of description.split("\n")) {
    const mark = TASK.exec(line)?.[1];
    if (mark === undefined) continue;
    count += 1;
    if (mark !== " ") completedCount += 1;
  }
  return { count, completedCount };
}

/** {@link tasksOf} in words; there must be some. */
export function taskStatus(description: string): string {
  const { count, completedCount } = tasksOf(description);
  return `${completedCount} of ${count} checklist item${count === 1 ? "" : "s"} completed`;
}

/** {@link tasksOf} a column, for the REST API. */
export const taskCompletionStatus = (column: string): field.Field => ({
  ...field.derived([column], "object", ([text]) => {
    const { count, completedCount } = tasksOf(String(text ?? ""));
    return { count, completed_count: completedCount };
  }),
  fields: { count: field.integer(column), completed_count: field.integer(column) },
});
