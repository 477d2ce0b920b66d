import * as z from "zod";

/** An instant as RFC 3339 writes it, in UTC. */
export const instant = z.iso.datetime();

/** The instant of Unix seconds; null where there is none. */
export const instantOf = (seconds: number | null | undefined): string | null =>
  seconds === null || seconds === undefined || seconds < 0
    ? null
    : new Date(seconds * 1_000).toISOString();

/** How a record of control is shown as JSON. */
export interface Form<Record, Schema extends z.ZodObject = z.ZodObject> {
  readonly schema: Schema;
  readonly of: (record: Record) => z.output<Schema>;
}

/** A form; its function must answer what its schema says. */
export const form = <Record, Schema extends z.ZodObject>(
  schema: Schema,
  of: (record: Record) => z.output<Schema>,
): Form<Record, Schema> => ({ schema, of });

/** Where something runs: `aws/us-east-1`, `local`; null when that is not known. */
export const infraOf = (
  cloud: string | null | undefined,
  region?: string | null | undefined,
): string | null => [cloud?.toLowerCase(), region].filter(Boolean).join("/") || null;
