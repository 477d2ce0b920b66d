import { once } from "node:events";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { buildOf } from "../../../common/programs.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import type { SshHost } from "../../helpers/ssh-hosts.ts";
import type { Figure } from "../figures.ts";
import type { Control, Lab } from "../lab.ts";
import { cpuMs, residentMib } from "../measure.ts";
import { deploy, entryOf, onPool, putPool, startHosts } from "./pool.ts";

const count = 200;
const settleMs = 10_000;
const measureMs = 20_000;
const launchesAtOnce = 8;
const users = [...Array(count).keys()].map((index) => `u${index}`);
/** Addresses of TEST-NET-3, all of one machine. Source: RFC 5737. */
const addressOf = (index: number) => `203.0.113.${index + 1}`;

/** Users of one machine, each with an address of its own; its Node.js starts no real agents. */
const addUsers = `
for ((n = 0; n < ${count}; n += 1)); do
  echo "u$n:x:$((5000 + n)):$((5000 + n))::/home/u$n:/bin/bash" >> /etc/passwd
  echo "u$n:*:20000:0:99999:7:::" >> /etc/shadow
  mkdir -p /home/u$n/.outrigger/agent
  chown -R $((5000 + n)) /home/u$n
  chmod 777 /home/u$n/.outrigger/agent
  ip addr add 203.0.113.$((n + 1))/32 dev lo
done
cat > /usr/bin/node <<'END'
#!/bin/sh
case $* in *--version*) echo v24.21.0 ;; *) exec sleep 100000 ;; esac
END
chmod +x /usr/bin/node`;

/**
 * The CPU time of a control plane that listens to 200 nodes where nothing happens. Each is reached
 * over an SSH connection of its own; their agents are light fakes in one process.
 */
export async function sshIdle(lab: Lab): Promise<Figure[]> {
  const control = await lab.control("bundle");
  await using pool = await startHosts(1);
  const [host] = pool.hosts;
  if (host === undefined) throw new Error("there is no host");
  await host.run(addUsers);
  await using _route = await routeTo(lab, host);
  const homes = `${host.disk}/home`;
  const agents = lab.load(
    "ssh/idle-agents.ts",
    homes,
    buildOf("agent", dirname(lab.bundle("agent"))),
    ...users,
  );
  await once(agents, "message", { signal: lab.signal });
  await launchAll(control, host);
  await sleep(settleMs, undefined, { signal: lab.signal });
  const before = cpuMs(control.pid);
  await sleep(measureMs, undefined, { signal: lab.signal });
  const share = ((cpuMs(control.pid) - before) / measureMs) * 100;
  const what = `control with ${count} idle agents over SSH`;
  return [
    { what: `${what}: of a core`, measured: share, unit: "%", target: { atMost: 5 } },
    { what, measured: residentMib(control.pid), unit: "MiB" },
  ];
}

async function routeTo(lab: Lab, { address }: SshHost): Promise<AsyncDisposable> {
  const route = async (verb: string) =>
    void (await once(lab.program("ip", ["route", verb, "203.0.113.0/24", "via", address]), "exit"));
  await route("replace");
  return { [Symbol.asyncDispose]: () => route("del") };
}

async function launchAll(control: Control, host: SshHost): Promise<void> {
  const { identity_file } = entryOf(control, host);
  await putPool(
    control,
    users.map((user, index) => ({ ip: addressOf(index), user, identity_file })),
  );
  await deploy(control);
  const waiting = [...users];
  const launchNext = async () => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop())
      await control.client.callAndGet(rows.launch, { cluster_name: name, task: onPool });
  };
  await Promise.all(Array.from({ length: launchesAtOnce }, launchNext));
}
