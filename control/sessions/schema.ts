/** A login of a browser or a command line; instants are epoch milliseconds. */
export interface Session {
  /** SHA-256 of the secret. */
  readonly digest: Uint8Array;
  readonly userId: string;
  /** How its user logged in: `password`, `oidc`, `proxy`. */
  readonly method: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

const prefix = "session, ";

/** What the audit log says of calls of a session, by how its user logged in. */
export const sessionCredential = (method: string): string => `${prefix}${method}`;

/** Whether a call was let in by its session. */
export const isSessionCredential = (credential: string): boolean => credential.startsWith(prefix);

/** How the user of a credential logged in. */
export const methodOf = (credential: string): string =>
  isSessionCredential(credential) ? credential.slice(prefix.length) : credential;
