import { interruptedExit } from "../../client/declined.ts";
import { errorTypes } from "../../common/errors.ts";
import { exitCodeMeanings } from "../../contract/exit-codes.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import { codes, table } from "./markdown.ts";
import type { Parts } from "./parts.ts";

/** What the exit codes of our programs, and those of jobs, say. */
export const exitCodeParts: Parts = {
  commands: () =>
    table(
      ["Code", "Meaning", "Error types"],
      [
        ["0", "success", ""],
        ...Object.entries(ofErrors).map(([exit, means]) => [exit, means, codes(typesOf(exit))]),
        ...Object.entries(ofJobs).map(([name, means]) => [
          String(jobExitCodes[name as keyof typeof ofJobs]),
          means,
          "",
        ]),
        [String(interruptedExit), "interrupted with Ctrl-C; jobs and requests continue", ""],
        ["141", "the reader of stdout has gone, as in `outrigger status | head -1`", ""],
      ],
    ),
  jobs: () => table(["Code", "Meaning"], Object.entries(exitCodeMeanings)),
};

type ExitOfError = (typeof errorTypes)[keyof typeof errorTypes]["exit"];

const ofErrors: Readonly<Record<ExitOfError, string>> = {
  1: "the command failed, or you answered no at a prompt",
  2: "wrong usage, settings or task; correct it and try again",
  3: "no such cluster, job, request or volume",
  4: "not authenticated, or not permitted",
  5: "conflicts with the current state, such as a cluster that is not up",
  6: "took too long",
  7: "unavailable: control plane, node, provider, capacity or disk space",
  8: "reserved; no command exits with it. A failed job is 100",
};

const ofJobs: Readonly<Record<Exclude<keyof typeof jobExitCodes, "SUCCEEDED">, string>> = {
  FAILED: "the job failed",
  NOT_FINISHED: "the job has not finished",
  NOT_FOUND: "there is no such job, or no such log",
  CANCELLED: "the job was cancelled",
};

const typesOf = (exit: string): string[] =>
  Object.entries(errorTypes).flatMap(([type, row]) => (row.exit === Number(exit) ? type : []));
