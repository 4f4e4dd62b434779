import * as field from "../../core/field.ts";

/** The fields of a custom attribute. */
export const attributeFields = { key: field.text("ca.key"), value: field.text("ca.value") };

/** The custom attributes of what is listed, where they are asked for: `embedAttributes` fills them in. */
export const customAttributes = {
  custom_attributes: field.omittedIfNull(
    field.embedded("custom_attributes", "array of object", "null", { items: attributeFields }),
  ),
};
