import { fail } from "../common/errors.ts";

/**
 * The address of a control plane, without a slash at the end; `place` says where it was given. Throws
 * `ConfigError` for one that is no http address, or that holds credentials.
 */
export function readEndpoint(text: string, place: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.username || url?.password)
    fail("ConfigError", `${place}: do not put credentials into an address; use a token file`);
  if (url === undefined || !/^https?:$/.test(url.protocol))
    fail("ConfigError", `${place}: ${text} is not an http or https address`);
  return text.replace(/\/+$/, "");
}

/** Whether the control plane sees the same files as we do. */
export function isLocal(endpoint: string): boolean {
  return /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1\])$/.test(new URL(endpoint).hostname);
}

/**
 * How certificates are checked: those of this machine's own control plane name its public address, so
 * that here any name will do.
 */
export const trustAt = (endpoint: string): { checkServerIdentity?: () => undefined } =>
  isLocal(endpoint) ? { checkServerIdentity: () => undefined } : {};
