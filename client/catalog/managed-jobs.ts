import { wholeNumber } from "../arguments.ts";
import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const managed = "Managed jobs:";
const name = {
  "-n, --name <name>": "The latest managed job of this name.",
} as const satisfies option.Options;

/** Commands about managed jobs. */
export const managedJobCommands = inGroup(managed, {
  "jobs launch": {
    operands: "[entrypoint...]",
    summary: "Run a task to its end on clusters that are created and replaced for it.",
    options: {
      "-p, --pool <name>": "Run on a worker of this pool, not on a cluster of its own.",
      ...option.workspaceOption,
      "--num-jobs <n>": {
        means: "Number of copies to submit, each a job of its own; prints their numbers.",
        parse: wholeNumber(1),
      },
      "--group <job>": {
        means: "Join the running job group with this number.",
        parse: wholeNumber(1),
      },
      ...option.detach,
      ...option.yes,
      ...option.taskOptions,
      ...option.machineOptions,
      ...option.later,
    },
    more: `ENTRYPOINT is a YAML file, a command, or - for stdin. The job gets a cluster of its own, which is deleted when the job has ended. If its machine is lost, the job starts again on another one; to continue from there, it must save its state elsewhere. A file with several tasks is a pipeline or a job group. ${option.jobExits}

Examples:
  outrigger jobs launch train.yaml                  submit it, then follow its log
  outrigger jobs launch -n eval -d 'python eval.py'  a command; prints the number of the job
  outrigger jobs launch --use-spot train.yaml       on machines that may be taken back
  outrigger jobs launch --num-jobs 8 sweep.yaml     eight copies, numbered by OUTRIGGER_JOB_RANK`,
    startsControl: true,
  },
  "jobs map": {
    operands: "[entrypoint...]",
    summary: "Run a task once for each line of a file, and collect the results.",
    options: {
      "--inputs <file>": "File with one input per line, such as JSON Lines.",
      "--results <file>": "File to write: one line of JSON per input, in the order of the inputs.",
      "-p, --pool <name>": "Run on the workers of this pool.",
      "--num-jobs <n>": {
        means: "Number of managed jobs to divide the inputs among; 32 by default.",
        parse: wholeNumber(1),
      },
      "--retries <n>": {
        means: "How often to retry a failed input; 2 by default.",
        parse: wholeNumber(0),
      },
      ...option.workspaceOption,
      ...option.yes,
      ...option.taskOptions,
      ...option.machineOptions,
      ...option.outputs,
    },
    more: `ENTRYPOINT is a YAML file, a command, or - for stdin. Its run sees the input in OUTRIGGER_MAP_INPUT and OUTRIGGER_MAP_INPUT_FILE, and writes its result to the file OUTRIGGER_MAP_RESULT_FILE. After an interruption, the same command continues where it stopped. It exits with 0 if every input succeeded, and with 100 if some failed.

Examples:
  outrigger jobs map -p warm --inputs prompts.jsonl --results answers.jsonl answer.yaml`,
    startsControl: true,
  },
  "jobs queue": {
    summary: "List managed jobs, newest first, and what they wait for.",
    options: {
      "-s, --skip-finished": "Omit jobs that have ended.",
      "-l, --limit <n>": { means: "Only the newest; 50 by default.", parse: wholeNumber(1) },
      ...option.watch,
      ...option.allUsers,
      ...option.outputs,
    },
    more: `Examples:
  outrigger jobs queue                              your newest jobs
  outrigger jobs queue -s -w                        those that have not ended, shown again after each change
  outrigger jobs queue -u --fields id,status        everyone's, as JSON`,
  },
  "jobs logs": {
    operands: "[job] [task]",
    summary: "Follow the log of a managed job; by default your latest one.",
    options: {
      ...name,
      "--controller": "Show the decisions about the job, with reasons, instead.",
      ...option.noFollow,
      ...option.tail,
      ...option.logLines,
    },
    more: `TASK is the number or the name of a task of the job. The log goes on when the job is recovered on another machine, and is kept when the job has ended. Of a pipeline it shows one task after the other, of a job group all tasks side by side. ${option.jobExits}

Examples:
  outrigger jobs logs 3                             managed job 3
  outrigger jobs logs 3 eval                        its task eval
  outrigger jobs logs -n train --tail 20 --no-follow
  outrigger jobs logs 3 --controller                why it was recovered`,
  },
  "jobs events": {
    operands: "[job] [task]",
    summary: "Show what happened to a managed job, and why; by default to your latest one.",
    options: {
      ...name,
      "-l, --limit <n>": { means: "Only the newest.", parse: wholeNumber(1) },
      "--clusters": "Also what happened to its clusters.",
      ...option.outputs,
    },
    more: `TASK is the number or the name of a task of the job; by default all.

Examples:
  outrigger jobs events 3                           oldest first
  outrigger jobs events 3 --clusters                and how each cluster came and went`,
  },
  "jobs download": {
    operands: "[job]",
    summary: "Write the log of every attempt at a managed job to a file of its own.",
    options: {
      ...name,
      "--controller": "Write the decisions about the job instead.",
      ...option.output,
    },
    more: `The files are written to ~/outrigger_logs/managed-job-NUMBER.

Examples:
  outrigger jobs download 3                         attempt-1.log, attempt-2.log, ...
  outrigger jobs download -n train --controller`,
  },
  "jobs wait": {
    operands: "[job] [task]",
    summary: "Wait until a managed job has ended; by default your latest one.",
    options: { ...name, ...option.timeout, ...option.outputs },
    more: `TASK is the number or the name of a task of the job; by default all. ${option.jobExits}

Examples:
  outrigger jobs wait 3 && echo done
  outrigger jobs wait -n train --timeout 2h`,
  },
  "jobs cancel": {
    operands: "[jobs...]",
    summary: "Cancel managed jobs and delete their clusters.",
    options: {
      ...name,
      "--task <task>": "Only this task of the job, by number or name.",
      "-p, --pool <name>": "All managed jobs of this pool.",
      "-a, --all": "All of your managed jobs.",
      "-u, --all-users": "All managed jobs of all users.",
      ...option.yes,
      ...option.later,
    },
    more: `With numbers or a name, it asks for confirmation only on a terminal. Otherwise it needs a terminal or -y. It does not wait until the clusters are deleted; jobs queue shows that.

Examples:
  outrigger jobs cancel 3 4                         two jobs
  outrigger jobs cancel -a -y                       all of yours`,
  },
});
