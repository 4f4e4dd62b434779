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

/** Red, green and blue, from 0 to 255. */
function partsOf(color: string): number[] {
  const digits = color.length === 4 ? color.replace(/[^#]/g, "$&$&") : color;
  return [1, 3, 5].map((at) => Number.parseInt(digits.slice(at, at + 2), 16));
}

/** Dark grey or white, as GitLab chooses by the brightness of a colour. */
export const contrast = (color: string): string =>
  partsOf(color).reduce((sum, part) => sum + part, 0) > 500 ? "#333333" : LIGHT;

/** Whether white stands out more than black on a colour, by WCAG's relative luminance. */
export function isDark(color: string): boolean {
  const [red = 0, green = 0, blue = 0] = partsOf(color).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179;
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
