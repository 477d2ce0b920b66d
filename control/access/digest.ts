import { hash } from "node:crypto";

/** What the database holds of a secret that is random throughout, such as a token. */
export const digestOf = (secret: string): Uint8Array => hash("sha256", secret, "buffer");
