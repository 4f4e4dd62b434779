import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { userSummaryFields } from "../users/json.ts";

/** A member of a group or project. */
export const member = presenter({
  ...userSummaryFields,
  access_level: field.integer("m.access_level"),
  expires_at: field.date("m.expires_at"),
});
