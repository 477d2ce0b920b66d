import { statSync } from "node:fs";
import * as z from "zod";
import { ifPossible } from "../../common/errors.ts";
import { readNamed } from "../../common/files.ts";
import type { Notice } from "./notice.ts";

const Text = z.object({
  because: z.string().optional(),
  deadlineAt: z.int().min(0).optional(),
  seconds: z.number().min(0).optional(),
});

/** What a notice file says; undefined while there is none. Throws when nobody can tell. */
export function readNoticeFile(path: string, now: number): Notice | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  const { because, deadlineAt, seconds } = readText(path);
  return {
    id: `${stat.ino} ${stat.mtimeMs}`,
    because: because ?? `the file ${path} says so`,
    deadlineAt: deadlineAt ?? (seconds === undefined ? null : now + seconds * 1_000),
  };
}

/** It is a notice by being there: what cannot be read or is not ours to read says nothing more. */
const readText = (path: string): z.output<typeof Text> =>
  ifPossible(() => Text.parse(JSON.parse(readNamed(path, { mostBytes: 64 * 1024 }).toString()))) ??
  {};
