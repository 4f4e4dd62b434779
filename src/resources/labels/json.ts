import * as field from "../../core/field.ts";

/** A label in a board's list, where it has no id. */
export const listedLabelFields = {
  name: field.text("l.name"),
  color: field.text("l.color"),
  description: field.text("l.description"),
};

/** A label in the scope of a changed board. */
export const scopeLabelFields = { id: field.integer("l.id"), ...listedLabelFields };
