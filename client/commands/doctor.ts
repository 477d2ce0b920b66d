import { lookAtControl } from "../doctor/control.ts";
import type { Finding } from "../doctor/finding.ts";
import { lookAtDisk, lookAtHome } from "../doctor/home.ts";
import {
  lookAtBash,
  lookAtControlGroups,
  lookAtNode,
  lookAtSsh,
  lookAtSystem,
  lookAtSystemd,
} from "../doctor/machine.ts";
import { findingForm } from "../output/installation.ts";
import type { Style } from "../terminal.ts";
import type { Run, World } from "../world.ts";
import { answerJson, type OutputOptions } from "./answers.ts";

const styles = { ok: "green", warning: "yellow", missing: "red" } as const satisfies Record<
  Finding["status"],
  Style
>;

/** `outrigger doctor`: changes nothing; 1 if something needed is missing. */
export const doctor: Run<OutputOptions> = async (world, _operands, options) => {
  const { terminal, env, settings } = world;
  const findings = [
    ...[lookAtNode(), lookAtSystem(), lookAtHome(settings.home), lookAtDisk(settings.home)],
    ...(await lookAtControl(settings)),
    ...[lookAtBash(env), lookAtSsh(env), lookAtSystemd(), lookAtControlGroups()],
  ];
  const rows = findings.map(({ hint = null, ...row }) => ({ ...row, hint }));
  if (world.json) answerJson(world, options, findingForm, rows);
  else terminal.answer(textOf(world, findings));
  return findings.some(({ status }) => status === "missing") ? 1 : 0;
};

/** A line for each finding, and its hint below: nothing is cut, because it is there to be copied. */
function textOf({ terminal: { paint } }: World, findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.map(({ check, status, found, hint }) => {
    const mark = paint(styles[status], status.padEnd("warning".length));
    const indent = " ".repeat("warning".length + width + 4);
    return `${mark}  ${check.padEnd(width)}  ${found}${hint === undefined ? "" : `\n${indent}${paint("dim", hint)}`}`;
  });
  return lines.join("\n");
}
