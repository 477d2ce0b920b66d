/** What is written down of a call. Nothing in it is secret; texts of strangers become one line each. */
export interface NewAudit {
  readonly at: number;
  /** Empty where nobody was identified. */
  readonly userId: string;
  readonly userName: string;
  readonly credential: string;
  readonly address: string;
  readonly operation: string;
  readonly subject: string | null;
  readonly outcome: "allowed" | "refused";
  readonly reason: string | null;
  readonly requestId: string | null;
}
