import * as v from "valibot";

/**
 * The schema of what may be given in one of two ways, whose errors are those of the way that was meant.
 *
 * @param isFirst whether a value is meant as the first one
 */
export function either<First, Second>(
  isFirst: (value: unknown) => boolean,
  first: v.GenericSchema<unknown, First>,
  second: v.GenericSchema<unknown, Second>,
): v.GenericSchema<unknown, First | Second> {
  const union = v.union([first, second]) as v.GenericSchema<unknown, First | Second>;
  return {
    ...union,
    "~run": (dataset, config) =>
      (isFirst(dataset.value) ? first : second)["~run"](dataset, config) as ReturnType<
        (typeof union)["~run"]
      >,
  };
}
