/** That the provider takes this node away. */
export interface Notice {
  /** Tells it from another one of the same source. */
  readonly id: string;
  readonly because: string;
  /** When the node goes; null when nobody says. */
  readonly deadlineAt: number | null;
}

/** A metadata endpoint that tells of notices. */
export interface NoticeSource {
  readonly everyMs: number;
  /** The notice that there is now. It may wait for one; it throws for an answer that makes no sense. */
  look(signal: AbortSignal): Promise<Notice | undefined>;
}
