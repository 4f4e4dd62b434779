import { arg } from "../../graphql/declare/args.ts";

/** What a cadence is called in global ids. */
export const CADENCE_CLASSES = ["Iterations::Cadence"];
/** The id of a cadence, as an argument. */
export const CADENCE_ID = arg.gid("IterationsCadence", CADENCE_CLASSES);
