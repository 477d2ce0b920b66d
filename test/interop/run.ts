import { parseArgs } from "node:util";
import { hasPython, newestVersion } from "../helpers/python.ts";
import { checkClient } from "./check.ts";
import { clients } from "./existing-client.ts";
import { openReport } from "./report.ts";

const interrupted = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => interrupted.abort(new Error(`interrupted by ${name}`)));
const { values } = parseArgs({ options: { show: { type: "boolean", default: false } } });

process.exitCode = await run(values.show, interrupted.signal);

/** Drives our control plane with each of the protocol's existing clients; the exit code. */
async function run(showsAll: boolean, signal: AbortSignal): Promise<number> {
  if (!(await hasPython(signal))) {
    console.log(
      "left out: the runs with the SkyPilot clients, because python3 with pip and venv is not here",
    );
    return 0;
  }
  const versions = await Promise.all(clients.map(({ wanted }) => newestVersion(wanted, signal)));
  const reports = versions.flatMap((one) => (one === undefined ? [] : openReport(one, showsAll)));
  if (reports.length < clients.length) {
    console.log(
      "left out: the runs with the SkyPilot clients, because the Python package index does not answer",
    );
    return 0;
  }
  await Promise.all(reports.map((report, at) => checkClient(report, at, signal)));
  for (const report of reports) console.log(`interop: ${report.summary()}`);
  return reports.some((report) => report.hasFaults()) ? 1 : 0;
}
