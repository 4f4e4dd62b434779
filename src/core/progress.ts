/** Called with the progress: records done, and records in total. */
export type Progress = (done: number, total: number) => void;
