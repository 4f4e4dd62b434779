/** The API's own version, same as the package's (a test compares them). */
export const VERSION = "0.1.0";

/** The revision of the code. Only releases are published, so it is the version's tag. */
export const REVISION = `v${VERSION}`;
