import { interruptedExit } from "../../client/declined.ts";
import { errorTypes } from "../../common/errors.ts";
import { exitCodeMeanings } from "../../contract/exit-codes.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import { code, page, table } from "./markdown.ts";

/** What the exit codes of our programs, and those of jobs, say. */
export const exitCodesPage = (): string =>
  page(
    "Exit codes",
    "bin/docs/exit-codes.ts, common/errors.ts, contract/statuses.ts and contract/exit-codes.ts",
    "## Commands",
    "Every `outrigger` command exits with one of these codes. Errors are printed on stderr; with `-o json` the last " +
      "line of stderr is [the error as JSON](machine-output.md). The error type is the `type` of an error in the API.",
    table(
      ["Code", "Meaning", "Error types"],
      [
        ["0", "success", ""],
        ...errorRows(),
        ...Object.entries(ofJobs).map(([name, means]) => [
          String(jobExitCodes[name as keyof typeof ofJobs]),
          means,
          "",
        ]),
        [String(interruptedExit), "interrupted with Ctrl-C; jobs and requests continue", ""],
        ["141", "the reader of stdout has gone, as in `outrigger status | head -1`", ""],
      ],
    ),
    following,
    "## Sidecar",
    sidecar,
    "## Jobs",
    "`queue` and the end of a log show the exit code of the script, and what it usually means. Shells report 128 plus " +
      "the number of the signal for a process that a signal ended.",
    table(["Code", "Meaning"], Object.entries(exitCodeMeanings)),
  );

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

const errorRows = (): string[][] =>
  Object.entries(ofErrors).map(([exit, means]) => [
    exit,
    means,
    Object.entries(errorTypes)
      .filter(([, row]) => row.exit === Number(exit))
      .map(([type]) => code(type))
      .join(", "),
  ]);

const following = `Commands that follow a job (\`launch\`, \`exec\`, \`logs\`) exit with 0 if the job succeeded, and
with 100 to 103 otherwise. \`logs --status\` uses the same codes. With \`-d\` they exit with 0 once the job is
submitted. \`outrigger shell\` exits with the code of the shell or command, and with 7 if the connection is lost.`;

const sidecar = `With a wrapped command, \`outrigger sidecar\` exits with the code of that command: 127 if it does not
exist, 128 plus the number of the signal if a signal ended it. Without one it exits with 0 after SIGTERM or SIGINT. It
exits with 2 if a setting is invalid or a key cannot be read.`;
