const prefix = "session, ";

/** What the audit log says of calls of a session, by how its user logged in. */
export const sessionCredential = (method: string): string => `${prefix}${method}`;

/** Whether a call was let in by its session. */
export const isSessionCredential = (credential: string): boolean => credential.startsWith(prefix);

/** How the user of a credential logged in. */
export const methodOf = (credential: string): string =>
  isSessionCredential(credential) ? credential.slice(prefix.length) : credential;
