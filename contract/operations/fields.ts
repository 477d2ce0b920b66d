import * as z from "zod";
import { envNames, product, protocol } from "../../common/product.ts";
import { BlobId } from "../blob-id.ts";
import { caps, filePath, listOf, longText, mapOf, settings, text } from "../caps.ts";

const Config = settings
  .nullish()
  .describe("Settings of the client, laid over control's for this request.");
const ConfigPath = filePath.nullish().describe("Where those settings come from, for messages.");

/** Fields that every JSON body may carry beside its own: who calls, from where, with what settings. */
export const callerFields = {
  env_vars: mapOf(longText)
    .transform(withoutTokens)
    .default({})
    .describe("Environment of the caller; names the caller where no login layer does."),
  entrypoint: text.default("").describe("Client function that made the call."),
  entrypoint_command: longText.default("").describe("Command line, shown as the call's origin."),
  using_remote_api_server: z.boolean().default(false),
  [`override_${product.word}_config` as const]: Config,
  [`override_${product.word}_config_path` as const]: ConfigPath,
  [`override_${protocol.word}_config` as const]: Config,
  [`override_${protocol.word}_config_path` as const]: ConfigPath,
  file_mounts_blob_id: BlobId.nullish().describe("Id of an uploaded blob; null when none."),
} as const;

const tokens = ["TOKEN", "SERVICE_ACCOUNT_TOKEN"].flatMap(envNames);

/** Clients of this protocol send their environment as it is, what lets them in included. */
function withoutTokens(env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !tokens.includes(name)));
}

/**
 * A JSON body with fields of its own beside `callerFields`; unknown keys are ignored. Its schema
 * goes by `name` in the API document.
 */
export const body = <const Fields extends z.ZodRawShape>(name: string, fields: Fields) => ({
  body: z.object({ ...fields, ...callerFields }).meta({ id: name }),
});

/** Query parameters. */
export const query = <const Fields extends z.ZodRawShape>(fields: Fields) => ({
  query: z.object(fields),
});

/** Parameters in the path. */
export const path = <const Fields extends z.ZodRawShape>(fields: Fields) => ({
  path: z.object(fields),
});

/** A yes or no in a query; clients of this protocol write `True`, `False`, `true`, `1`. */
export const queryBoolean = (fallback: boolean) =>
  z
    .stringbool({ truthy: ["true", "1"], falsy: ["false", "0"] })
    .default(fallback)
    .meta({ type: "boolean" });

/** A whole number in a query; an empty text is none. */
export const queryInteger = (least = -caps.integer, most = caps.integer) =>
  z.preprocess(
    (value) => (value === "" ? Number.NaN : value),
    z.coerce.number().int().min(least).max(most),
  );

/** A query parameter that may be repeated. */
export const queryList = z.preprocess(
  (value: string | string[]) => (typeof value === "string" ? [value] : value),
  listOf(text),
);

/** A key that must be there although it may be null. */
export const nullable = <T extends z.ZodType>(type: T) => type.nullable();

/** A key that may be missing or null; null then. */
export const optional = <T extends z.ZodType>(type: T) => type.nullable().default(null as never);

/** A yes or no; no when it is missing. */
export const flag = z.boolean().default(false);

/** Whoever comes back to a cluster that is about to stop by itself may keep it. */
export const cancelStop = flag.describe(
  "Take back what the idle timer began, as long as its hooks run.",
);

/** When the lines of a log began, and which of them are wanted. */
export const logInstants = {
  since: optional(z.number().min(0).max(caps.integer)).describe(
    "Unix seconds; only lines that ended then or later.",
  ),
  timestamps: flag.describe(
    "Control lines with the code instant say when the lines after them began.",
  ),
};

/** What every operation that runs a task may refuse. */
export const taskErrors = [
  "ValueError",
  "InvalidTaskError",
  "NotSupportedError",
  "UserRequestRejectedByPolicy",
] as const;

/** What has no shape: bytes, text, a page. */
export const Bytes = z.unknown();

/** The result of an operation that has none. */
export const Nothing = z.null();
