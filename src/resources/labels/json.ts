import * as show from "../../core/present.ts";

/** A label as a board's list shows it (contract §2: no id there). */
export const listedLabelFields = {
  name: show.text("l.name"),
  color: show.text("l.color"),
  description: show.text("l.description"),
};

/** A label as the scope of a changed board shows it. */
export const scopeLabelFields = { id: show.integer("l.id"), ...listedLabelFields };
