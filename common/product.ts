/** Our name, and the one that existing clients and task files of this protocol use. */
export const product = { word: "outrigger", title: "Outrigger", version: "0.1.0" } as const;

/** The protocol that we speak on the wire. Source: the reference's API number 62. */
export const protocol = {
  word: "skypilot",
  /** Prefix of request names: `sky.launch`. */
  requestPrefix: "sky",
  /** Tag of control lines inside streams. */
  payloadTag: "sky-payload",
  /** Tag that makes a client open a terminal; never sent on behalf of a job. */
  interactiveTag: "sky-interactive",
  apiVersion: 62,
  minApiVersion: 24,
  version: "1.0.0-dev0",
} as const;

/** Cookies that carry logins to control. Browsers send them to every port of its host. */
export const loginCookies = {
  session: `${product.word}_session`,
  pending: `${product.word}_login`,
} as const;

const envPrefixes = [product.word, protocol.word].map((word) => word.toUpperCase());
const headerPrefixes = [product.title, "SkyPilot"];

/** The environment names of one variable, ours first: `OUTRIGGER_NODE_RANK`, `SKYPILOT_NODE_RANK`. */
export const envNames = (suffix: string): string[] =>
  envPrefixes.map((prefix) => `${prefix}_${suffix}`);

/** The header names of one header, ours first: `X-Outrigger-Version`, `X-SkyPilot-Version`. */
export const headerNames = (suffix: string): string[] =>
  headerPrefixes.map((prefix) => `X-${prefix}-${suffix}`);

/** One value under every environment name of a variable. */
export const envOf = (suffix: string, value: string): Record<string, string> =>
  Object.fromEntries(envNames(suffix).map((name) => [name, value]));

/** The value of a variable under the first of its names that is set. */
export function readEnv(
  env: Readonly<Record<string, string | undefined>>,
  suffix: string,
): string | undefined {
  return envNames(suffix)
    .map((name) => env[name])
    .find((value) => value !== undefined);
}
