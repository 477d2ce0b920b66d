/** Existing clients of this protocol take no other tokens than those that begin with `sky_`. */
export const tokenPrefix = "sky_outrigger_";

/** A token of a service account. Its secret is nowhere; instants are epoch milliseconds. */
export interface Token {
  readonly id: string;
  readonly name: string;
  /** The service account. */
  readonly userId: string;
  readonly creatorId: string;
  readonly creatorName: string;
  readonly createdAt: number;
  /** Null where it does not expire. */
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
}
