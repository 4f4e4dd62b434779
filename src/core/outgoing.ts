/** A request that the server has sent, such as to a webhook, without secrets. */
export interface OutgoingCall {
  /** The id of the hook. */
  readonly hook: number;
  /** What it was about, such as `Push Hook`. */
  readonly event: string;
  /** The attribute of hooks it was for, such as `push_events`. */
  readonly trigger: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Of the answer; `undefined` if there was none, or it was not sent. */
  readonly status: number | undefined;
  /** The answer's body, or why there is none. */
  readonly answer: string;
  /** Milliseconds until the answer. */
  readonly duration: number;
}

/** What becomes of requests that the server sends. */
export interface Outgoing {
  /** Whether they may go to this machine and its networks. */
  readonly allowLocal: boolean;
  /** Whether they are not sent, and count as accepted. Default: they are sent. */
  readonly isKept?: (() => boolean) | undefined;
  /** Told of each. */
  readonly onCall?: ((call: OutgoingCall) => void) | undefined;
}
