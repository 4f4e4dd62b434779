const PART = / \d+\/\d+$/;
const OF_MATRIX = /: \[[^[\]]*\]$/;

/** The name that the jobs of one `parallel` have in common: `test` of `test 1/2` and of `test: [ruby]`. */
export const groupNameOf = (name: string): string =>
  name.replace(PART.test(name) ? PART : OF_MATRIX, "").trimEnd();

/** The name of the suite that a job's tests are in: jobs of a matrix have one each. */
export const suiteNameOf = (name: string): string =>
  OF_MATRIX.test(name) ? name : groupNameOf(name);
