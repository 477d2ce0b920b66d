import type { Duplex } from "node:stream";
import { AppError, fail } from "../../../common/errors.ts";
import { product } from "../../../common/product.ts";
import { programArgs } from "../../../common/programs.ts";
import { shellWord } from "../../../common/shell-word.ts";
import { openTurns } from "../../../common/turns.ts";
import type { Bundles } from "../../doors/ssh/bundles.ts";
import type { SshConnections } from "../../doors/ssh/connections.ts";
import { execOn } from "../../doors/ssh/exec.ts";
import { type Installed, installAgent } from "../../doors/ssh/install.ts";
import { probeHost } from "../../doors/ssh/probe.ts";
import { nameOf, type SshTarget } from "../../doors/ssh/target.ts";
import { within } from "../../doors/ssh/trouble.ts";
import { cached } from "../cached.ts";
import { complaintOf, type Login, limits } from "./login.ts";
import type { LoginName } from "./site-names.ts";

/** How login nodes are reached, and what they get. */
export interface LoginWays {
  readonly connections: SshConnections;
  readonly bundles: Bundles;
  resolve(login: LoginName): Promise<SshTarget>;
}

/** How long it takes until a change of the SSH configuration counts. */
const targetMs = 60_000;

/** More than copying Node.js and the agent may take. */
const installMs = 25 * 60_000;
const late = () =>
  new AppError("TimeoutError", `the login node has no agent after ${installMs} ms`);

/** A server lets no more than ten sessions begin on a connection. Source: sshd_config(5), MaxSessions. */
const looksAtOnce = 2;
/** Of all other scripts, which may take long. */
const scriptsAtOnce = 4;

/** A login node reached over SSH: one connection, whatever goes over it. What nodes run lies in the user's home. */
export function sshLogin(
  name: LoginName,
  { connections, bundles, resolve }: LoginWays,
  slurmConf: string | undefined,
): Login {
  const [look, inTurn] = [openTurns(looksAtOnce), openTurns(scriptsAtOnce)];
  const target = cached(targetMs, () => resolve(name));
  const facts = cached(Number.POSITIVE_INFINITY, async () => {
    const host = await probeHost(connections, await target.read());
    // Nodes may not have the Node.js of the login node, and an agent of its user has nothing to do with them.
    return { ...host, node: null, foreignUnit: null };
  });
  async function install(): Promise<Installed> {
    const reached = { target: await target.read(), facts: await facts.read() };
    return installAgent(connections, reached, bundles);
  }
  /** Launches at the same time bring the agent once, and none breaks that off for the others. */
  const installed = cached(Number.POSITIVE_INFINITY, () => install().finally(forgetInstalled));
  const forgetInstalled = () => installed.forget();
  /** Commands of Slurm may be in the path of logins alone. */
  const before = [
    "command -v squeue > /dev/null || . /etc/profile > /dev/null 2>&1",
    ...(slurmConf === undefined ? [] : [`export SLURM_CONF=${shellWord(slurmConf)}`]),
  ];

  return {
    async run(script, args, signal, kind) {
      const there = await target.read();
      const asked = { what: "asking Slurm", text: [...before, script].join("\n"), args, ...limits };
      const until = kind === "whole" ? undefined : signal;
      const { code, stdout, stderr } = await (kind === "look" ? look : inTurn)(
        () => execOn(connections, there, asked, until),
        signal,
      );
      if (code === 0) return stdout;
      return fail("CloudError", complaintOf(stderr, `exit code ${code} on ${nameOf(there)}`));
    },
    async dial(host, port) {
      return connections.channel<Duplex>(await target.read(), (client, done) =>
        client.forwardOut("127.0.0.1", 0, host, port, done as never),
      );
    },
    folder: async () => `${(await facts.read()).home}/.${product.word}/slurm`,
    async agent(signal) {
      const { node, folder } = await within(installed.read(), installMs, late, signal);
      return [node, ...programArgs("agent").slice(0, -1), `${folder}/agent.mjs`];
    },
  };
}
