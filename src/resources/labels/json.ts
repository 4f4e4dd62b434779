import * as field from "../../core/field.ts";
import { escaped } from "../../core/markup.ts";
import { presenter } from "../../core/presenter.ts";

/** A label in a board's list, where it has no id. */
export const listedLabelFields = {
  name: field.text("l.name"),
  color: field.text("l.color"),
  description: field.text("l.description"),
};

/** A label in the scope of a changed board. */
export const scopeLabelFields = { id: field.integer("l.id"), ...listedLabelFields };

/** A colour that can be read on the label's. */
export const textColor = field.derived(["l.color"], "string", ([color]) => contrast(String(color)));

/** A label in lists of issues and merge requests that are asked for its details. */
export const labelDetails = presenter({
  ...listedLabelFields,
  description_html: field.derived(["l.description"], "string", ([text]) =>
    text === null ? null : escaped(String(text)),
  ),
  text_color: textColor,
});

/** The colour of texts on dark ones. */
export const LIGHT = "#FFFFFF";

/** Dark grey or white, whichever is readable on a colour. */
export function contrast(color: string): string {
  const digits = color.length === 4 ? color.replace(/[^#]/g, "$&$&") : color;
  const brightness = [1, 3, 5].reduce(
    (sum, at) => sum + Number.parseInt(digits.slice(at, at + 2), 16),
    0,
  );
  return brightness > 500 ? "#333333" : LIGHT;
}

/** The fields of a label that the group or project it is listed for has. */
export const groupLabelFields = {
  ...scopeLabelFields,
  text_color: textColor,
  open_issues_count: field.embedded("open_issues_count", "integer", "null"),
  closed_issues_count: field.embedded("closed_issues_count", "integer", "null"),
  open_merge_requests_count: field.embedded("open_merge_requests_count", "integer", "null"),
  subscribed: field.flag("case when ls.user_id is null then 0 else 1 end"),
};

/** A label of a group. */
export const groupLabel = presenter(groupLabelFields);
