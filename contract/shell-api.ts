import * as z from "zod";
import { innerOperations } from "../common/operation.ts";

/**
 * A shell on a node. Both bodies are frames: a line of JSON, and the bytes that it announces. The
 * shell and all that it started end with either side.
 */

/** What the kernel has room for. */
export const mostCells = 65_535;
const cells = z.int().min(0).max(mostCells);

/** The size of a terminal in characters. */
export const TerminalSize = z.object({ columns: cells, rows: cells });
export type TerminalSize = z.output<typeof TerminalSize>;

/** Comes first: what runs, and at which terminal. */
export const ShellStart = z.object({
  command: z
    .string()
    .max(32_768)
    .refine((text) => !text.includes("\0"), "must not contain NUL")
    .nullable()
    .describe("For bash; null is a shell that reads its commands."),
  terminal: TerminalSize.extend({ type: z.string().regex(/^[\w.+-]{1,64}$/) }).nullable(),
});
export type ShellStart = z.output<typeof ShellStart>;

const bytes = z
  .int()
  .min(0)
  .max(1 << 20);

/** What control sends after the start. */
export const ShellInput = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("input"), bytes }),
  z.object({ kind: z.literal("inputEnds") }),
  z.object({ kind: z.literal("resize"), size: TerminalSize }),
]);
export type ShellInput = z.output<typeof ShellInput>;

/** What the agent sends; `exit` comes last. */
export const ShellOutput = z.discriminatedUnion("kind", [
  z.object({ kind: z.enum(["output", "errors"]), bytes }),
  z.object({ kind: z.literal("exit"), code: z.int().nullable(), signal: z.string().nullable() }),
]);
export type ShellOutput = z.output<typeof ShellOutput>;

/** A frame without its bytes. */
export const toFrame = (frame: ShellStart | ShellInput | ShellOutput): string =>
  `${JSON.stringify(frame)}\n`;

/** The rows of shells. */
export const shellOperations = innerOperations({
  openShell: {
    route: "POST /shells",
    mode: "stream",
    summary:
      "A shell at the node, until it exits or the caller goes. Its body is a `ShellStart`, then `ShellInput`; the answer is `ShellOutput`. It counts as activity for the idle timer.",
    input: { rawBody: "application/octet-stream" },
    output: z.unknown(),
    errors: ["ValueError", "ConflictError"],
  },
});
