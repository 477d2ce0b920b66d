const prefix = "session, ";

/** What the audit log says of calls of a session, by how its user logged in. */
export const sessionCredential = (method: string): string => `${prefix}${method}`;

/** How the user of a credential logged in. */
export const methodOf = (credential: string): string =>
  credential.startsWith(prefix) ? credential.slice(prefix.length) : credential;
