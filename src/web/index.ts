import type { Resource } from "../core/resource.ts";
import { sessionPages } from "./sessions.ts";
import { signInPages } from "./sign-in.ts";

/** The pages. */
export const pages: readonly Resource[] = [sessionPages, signInPages];
