import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { request } from "undici";
import { findTree, type ProcessStat } from "../../../common/process-tree.ts";
import type { Job, JobSidecar, JobSubmission } from "../../../contract/agent-shapes.ts";
import { type TestAgent, until } from "../../helpers/agent.ts";

/** A command that runs one of the servers of the fixtures on the port that it finds in `$PORT`. */
export const serve = (fixture: "serves-port" | "serves-completions"): string =>
  `exec ${process.execPath} ${join(import.meta.dirname, "../../fixtures", fixture)} "$PORT"`;

/** A job with a sidecar, and what a client hears from it. */
export interface SidecarJob extends Job {
  readonly sidecar: JobSidecar;
  /** The status of an answer; 0 when there is none. */
  statusOf(key: string | undefined, path?: string): Promise<number>;
  /** Resolves once the server answers who has the key. */
  untilServing(): Promise<void>;
}

/** A sidecar on ports that nobody has now, and that no outgoing connection is given. */
export async function aSidecar(key: string): Promise<JobSidecar> {
  const [port, serverPort] = [await findFreePort(), await findFreePort()];
  return { listen: { host: "127.0.0.1", port }, serverPort, key };
}

/** Hands in a job that runs behind a sidecar. */
export async function submitBehind(
  agent: TestAgent,
  sidecar: JobSidecar,
  run: string,
  more: Partial<JobSubmission> = {},
): Promise<SidecarJob> {
  const { host, port } = sidecar.listen;
  const statusOf = async (key: string | undefined, path = "/") => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    try {
      const { statusCode, body } = await request(`http://${host}:${port}${path}`, { headers });
      await body.dump();
      return statusCode;
    } catch {
      return 0;
    }
  };
  const untilServing = () =>
    until(async () => (await statusOf(sidecar.key)) === 200 || undefined).then(() => {});
  const job = await agent.submit(run, { ...more, sidecar });
  return { ...job, sidecar, statusOf, untilServing };
}

/** The processes of a job. */
export const leftOf = ({ home }: TestAgent, id: number): ProcessStat[] =>
  findTree({ roots: [], mark: `OUTRIGGER_JOB_FOLDER=${home}/.outrigger/jobs/${id}` });

/** The processes of a job that its sidecar has started, and theirs. */
export const listBehind = (agent: TestAgent, id: number): ProcessStat[] =>
  leftOf(agent, id).filter(({ pid }) => environmentOf(pid).includes("\0OUTRIGGER_WRAPPED="));

export const environmentOf = (pid: number): string =>
  readFileSync(`/proc/${pid}/environ`, "latin1");

/** Where no other test takes any: neither those that claim theirs nor the replicas of a control plane. */
const [lowest, ports] = [26_000, 4_000];
const given = new Set<number>();

async function findFreePort(): Promise<number> {
  for (;;) {
    const port = lowest + Math.floor(Math.random() * ports);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer()
    .once("error", () => resolve(false))
    .listen(port, () => server.close(() => resolve(true)));
  return promise;
}
