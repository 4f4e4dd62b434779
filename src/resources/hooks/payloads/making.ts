import type { View } from "../../../core/field.ts";
import type { HookEventKind, HookTrigger } from "../../../hooks/events.ts";
import type { Store } from "../../../store/port.ts";

/** What payloads are made with. */
export interface Making {
  readonly store: Store;
  /** The public address, the host in it, and the instant. */
  readonly view: View;
}

/** A moment as it was recorded, for one hook. */
export interface ToldHookEvent {
  readonly kind: HookEventKind;
  readonly userId: number | null;
  /** When it was, in epoch milliseconds. */
  readonly at: number;
  /** The id of what it is about, what happened, and what can't be read later. */
  readonly data: Readonly<Record<string, unknown>> & {
    readonly id: number;
    readonly action?: string;
  };
  /** Whose hook it is. */
  readonly hookOf: "project" | "group" | "system";
}

/** What a hook is sent. */
export interface HookPayload {
  /** The event of which the hook must listen for this. */
  readonly event: HookTrigger;
  /** What the header `X-Gitlab-Event` says, unless it is a system hook. */
  readonly title: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The branch it is about, by which hooks can filter. */
  readonly branch?: string | undefined;
}

/** Makes the payload of a moment; `undefined` if it is not for the hook, or what it is about is gone. */
export type MakePayload = (
  making: Making,
  moment: ToldHookEvent,
) => Promise<HookPayload | undefined>;
