import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Figure } from "./figures.ts";
import type { Form, Lab } from "./lab.ts";
import { median, timesOf } from "./measure.ts";

const samples = { warmUps: 3, samples: 20 };

/** From the Enter key to the end of a command that asks for little. */
export async function cliStart(lab: Lab): Promise<Figure[]> {
  const { endpoint, home } = await lab.control("bundle");
  const env = { OUTRIGGER_ENDPOINT: endpoint, OUTRIGGER_HOME: home };
  const medianOf = async (form: Form, ...words: string[]) =>
    median(await timesOf(() => run(lab.cli(form, words, env), lab.signal), samples));
  return [
    {
      what: "command line, bundled: --version",
      measured: await medianOf("bundle", "--version"),
      unit: "ms",
      target: { atMost: 150 },
    },
    {
      what: "command line, bundled: --help",
      measured: await medianOf("bundle", "--help"),
      unit: "ms",
      target: { atMost: 150 },
    },
    {
      what: "command line, bundled: status",
      measured: await medianOf("bundle", "status"),
      unit: "ms",
    },
    {
      what: "command line, from source: --version",
      measured: await medianOf("source", "--version"),
      unit: "ms",
    },
    {
      what: "command line, from source: status",
      measured: await medianOf("source", "status"),
      unit: "ms",
    },
    {
      what: "for comparison: Node.js with nothing to do",
      measured: median(await timesOf(() => run(lab.start("-e", ["0"], {}), lab.signal), samples)),
      unit: "ms",
    },
  ];
}

async function run(child: ChildProcess, signal: AbortSignal): Promise<void> {
  child.stdout?.resume();
  child.stderr?.resume();
  const [code] = await once(child, "exit", { signal });
  if (code !== 0) throw new Error(`the command line ended with ${code}`);
}
