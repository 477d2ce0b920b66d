import type { ClientChannel } from "ssh2";
import type { Dispatcher } from "undici";
import { clusterOperations } from "../../../contract/operations/clusters.ts";
import { openSshConnections } from "../../../control/doors/ssh/connections.ts";
import { openChannelDoor } from "../../../control/doors/ssh/door.ts";
import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { quantile } from "../measure.ts";
import { deploy, entryOf, onPool, putPool, startHosts } from "./pool.ts";

const socket = "/home/ana/.outrigger/agent/agent.sock";
const warmUpMs = 1_000;
const measureMs = 5_000;

/** Calls of a real agent through its door: one after the other, and 32 at a time. */
export async function sshDoor(lab: Lab): Promise<Figure[]> {
  const control = await lab.control("bundle");
  await using pool = await startHosts(1, { node: true });
  const [host] = pool.hosts;
  if (host === undefined) throw new Error("there is no host");
  await putPool(control, [entryOf(control, host)]);
  await deploy(control);
  await control.client.callAndGet(clusterOperations.launch, { cluster_name: "a", task: onPool });
  const ssh = openSshConnections({ find: async () => undefined, keep: async (_, key) => key });
  const target = host.target();
  const door = openChannelDoor(() =>
    ssh.channel<ClientChannel>(target, (client, done) =>
      client.openssh_forwardOutStreamLocal(socket, done as never),
    ),
  );
  try {
    return [...(await figuresOf(door, 1)), ...(await figuresOf(door, 32))];
  } finally {
    await door.destroy();
    ssh.close();
  }
}

async function figuresOf(door: Dispatcher, atOnce: number): Promise<Figure[]> {
  const begin = performance.now() + warmUpMs;
  const end = begin + measureMs;
  const cpuBefore = process.cpuUsage();
  const callAgain = async () => {
    const times: number[] = [];
    for (let since = performance.now(); since < end; ) {
      const { body } = await door.request({
        origin: "http://agent",
        method: "GET",
        path: "/health",
      });
      await body.dump();
      const now = performance.now();
      if (since >= begin) times.push(now - since);
      since = now;
    }
    return times;
  };
  const times = (await Promise.all(Array.from({ length: atOnce }, callAgain))).flat();
  const { user, system } = process.cpuUsage(cpuBefore);
  const share = (user + system) / 1_000 / (warmUpMs + measureMs);
  const rate = times.length / (measureMs / 1_000);
  const what = `call of an agent over SSH, ${atOnce} at a time`;
  return [
    { what, measured: rate, unit: "/s" },
    { what: `${what}: p50`, measured: quantile(times, 0.5), unit: "ms" },
    { what: `${what}: p99`, measured: quantile(times, 0.99), unit: "ms" },
    {
      what: `${what}: CPU time of the caller for each`,
      measured: (share * 1e6) / rate,
      unit: "µs",
    },
  ];
}
