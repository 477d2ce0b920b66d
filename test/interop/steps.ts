import { jobExitCodes } from "../../contract/statuses.ts";
import type { Ended } from "./command.ts";

/** One command of the existing client, and what must come of it. */
export interface Step {
  readonly args: readonly string[];
  readonly exitCode: number;
  readonly shows: readonly RegExp[];
}

const step = (line: string, shows: readonly RegExp[], exitCode = 0): Step => ({
  args: line.match(/'[^']*'|\S+/g)?.map((word) => word.replaceAll("'", "")) ?? [],
  exitCode,
  shows,
});

/** What the cluster's first job prints. */
export const knownLine = "hello from the outrigger interop run";

/** The task that is launched. */
export const taskYaml = `run: echo ${knownLine}\n`;

/** The life of one cluster, as a user of the existing client lives it. */
export const stepsAgainst = (url: string): Step[] => [
  step(`api login -e ${url}`, [/Logged into/]),
  step("api info", [/HEALTHY/]),
  step("status", [/No existing clusters/, /No in-progress managed jobs/, /No existing services/]),
  step("launch -y -c it task.yaml", [new RegExp(knownLine), /Job ID: 1/]),
  step("logs it 1", [new RegExp(knownLine)]),
  step("exec it 'echo second'", [/second/]),
  step("exec it 'exit 3'", [], jobExitCodes.FAILED),
  step("queue it", [/^1 .*SUCCEEDED/m, /^2 .*SUCCEEDED/m, /^3 .*FAILED/m]),
  step("status it", [/^it .*\bUP\b/m]),
  step("stop -y it", [/Stopping cluster it\.\.\.done/]),
  step("status it", [/^it .*\bSTOPPED\b/m]),
  step("start -y it", [/Cluster it started/]),
  step("status it", [/^it .*\bUP\b/m]),
  step("down -y it", [/Terminating cluster it\.\.\.done/]),
  step("status", [/No existing clusters/]),
  step("logs nowhere", [/nowhere/], 1),
];

/** What must come of letting the client decode our encodings: silence. */
export const decoding: Step = { args: [], exitCode: 0, shows: [] };

/** What is wrong with how a step ended, or undefined. */
export function faultOf(step: Step, { exitCode, text }: Ended): string | undefined {
  if (exitCode !== step.exitCode) return `exit code ${exitCode}, not ${step.exitCode}`;
  const missing = step.shows.find((pattern) => !pattern.test(text));
  if (missing !== undefined) return `the output lacks ${missing}`;
  return text.includes("Traceback") ? "a traceback" : undefined;
}
