/** The API's own version: the package's (a test compares them). */
export const VERSION = "0.1.0";

/** The state of the code: with releases only, the version says it. */
export const REVISION = `v${VERSION}`;
