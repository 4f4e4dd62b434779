import * as show from "../../core/present.ts";

/** A label in a board's list, where it has no id. */
export const listedLabelFields = {
  name: show.text("l.name"),
  color: show.text("l.color"),
  description: show.text("l.description"),
};

/** A label in the scope of a changed board. */
export const scopeLabelFields = { id: show.integer("l.id"), ...listedLabelFields };
