import { wholeNumber } from "../arguments.ts";
import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const pools = "Managed jobs:";
const names = "Names may be patterns such as 'warm-*'; quote them.";

/** Commands about the pools that managed jobs run on. */
export const poolCommands = inGroup(pools, {
  "jobs pool apply": {
    operands: "[entrypoint...]",
    summary: "Create a pool of workers, or change one.",
    options: {
      "-p, --pool <name>": "Name of the pool; by default the name of the task.",
      "--workers <n>": {
        means: "Without ENTRYPOINT: the number of workers of the pool.",
        parse: wholeNumber(0),
      },
      "--mode <mode>": {
        means:
          "rolling: replace workers step by step (default); blue_green: start all new ones first.",
        choices: ["rolling", "blue_green"],
      },
      ...option.workspaceOption,
      ...option.yes,
      ...option.taskChanges,
      ...option.machineOptions,
      ...option.later,
    },
    more: `ENTRYPOINT is a YAML file with a pool section, or - for stdin. Each worker runs the setup of the task once, and then one job after another. Workers that have jobs are replaced when these have ended.

Examples:
  outrigger jobs pool apply -p warm pool.yaml       a pool named warm
  outrigger jobs launch -p warm train.yaml          a job on one of its workers
  outrigger jobs pool apply -p warm --workers 4     more workers`,
    startsControl: true,
  },
  "jobs pool status": {
    operands: "[pools...]",
    summary: "List pools and their workers, and which jobs they run.",
    options: { "-v, --verbose": "Show all columns.", ...option.watch, ...option.outputs },
    more: `It exits with 3 if a pool does not exist.

Examples:
  outrigger jobs pool status                        every pool
  outrigger jobs pool status warm -v                also explains the number of workers`,
  },
  "jobs pool logs": {
    operands: "<pool> [worker]",
    summary: "Follow the log of a worker's setup, or of the pool itself.",
    options: {
      "--controller":
        "Show the decisions about the pool, with reasons; the default without WORKER.",
      ...option.noFollow,
      ...option.tail,
      ...option.logLines,
    },
    more: `What jobs print is in their own logs: outrigger jobs logs JOB

Examples:
  outrigger jobs pool logs warm                     what was decided about the pool
  outrigger jobs pool logs warm 1                   the setup of worker 1`,
  },
  "jobs pool down": {
    operands: "[pools...]",
    summary: "Take pools down.",
    options: {
      "-a, --all": "All pools.",
      ...option.yes,
      ...option.ignoreNotFound,
      "-p, --purge": "Cancel the jobs of the pools, and drop what cannot be removed from the list.",
      ...option.later,
    },
    more: `${names} A pool with jobs that have not ended is refused, unless --purge cancels them.\nWith names, it asks for confirmation only on a terminal. --all and patterns need a terminal or -y.

Examples:
  outrigger jobs pool down warm                     with all of its workers
  outrigger jobs pool down -y -p warm               also cancels its jobs`,
  },
});
