import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { whyNoHosts } from "../helpers/ssh-hosts.ts";
import { bootMachine, type Machine, type Ran, whyNoMachine } from "../systemd/machine.ts";
import { clusterOf, type TestCluster } from "./cluster.ts";
import { type Lab, openLab } from "./ssh-lab.ts";

/** A user of a machine with systemd, as a host of a pool. */
export interface Service {
  /** A cluster that shall take this host. */
  readonly cluster: TestCluster;
  /** What its entry in the pool's document is made of. */
  readonly entry: Parameters<Lab["put"]>[0][number];
  readonly user: string;
  /** The user's folder, as seen from here. */
  readonly home: string;
  /** systemctl(1) on the agent's unit. */
  ctl(...verb: string[]): Promise<Ran>;
  /** Has systemd read its files again. */
  reload(): Promise<Ran>;
  /** A property of that unit, as systemd has it. */
  property(name: string): Promise<string>;
}

const binaries = join(import.meta.dirname, "../../node_modules/.bin");
const unit = "outrigger-agent";
const ann = 1234;
/** Whoever has an account may have a systemd. */
const pam = "account required pam_permit.so\nsession optional pam_systemd.so\n";

/** Why there can be no such hosts here; false when there can. */
export const whyNoServices = (): string | false =>
  whyNoHosts() ||
  whyNoMachine() ||
  (!existsSync("/usr/lib/polkit-1/polkitd") && "needs the Debian package polkitd");

/** One machine as two hosts of a pool, which is empty yet: root's, and ann's. */
export async function openServices(t: TestContext) {
  const machine = await bootMachine(t);
  await addAnn(machine);
  const key = prepareSsh(t, machine);
  const lab = await openLab(t, []);
  const ctls = managersOf(machine);
  const open = async (address: string, user: "root" | "ann", name: string): Promise<Service> => {
    const ctl = (...verb: string[]) => ctls[user](...verb, unit);
    return {
      ...{
        ctl,
        reload: () => ctls[user]("daemon-reload"),
        user,
        cluster: clusterOf(lab.control, name),
      },
      entry: { host: { address, key }, more: { port: await listen(t, machine, address), user } },
      home: join(machine.disk, user === "root" ? "root" : "home/ann"),
      property: async (property) => (await ctl("show", "-P", property)).stdout.trim(),
    };
  };
  const hosts = [
    await open("127.0.0.1", "root", "all"),
    await open("127.0.0.2", "ann", "own"),
  ] as const;
  return { machine, lab, hosts };
}

/** Deploys the hosts of a pool one by one, so that each cluster gets the one that is meant for it. */
export async function launchOn(lab: Lab, hosts: readonly Service[], task: string): Promise<void> {
  for (const [index, { cluster }] of hosts.entries()) {
    await lab.put(hosts.slice(0, index + 1).map(({ entry }) => entry));
    const { error, text } = await lab.run("deploy");
    if (error !== null) throw new Error(text);
    await cluster.launch(task);
  }
}

/** Gives a machine the user ann, who has a systemd of her own now: not once she logged out. */
async function addAnn({ disk, get }: Machine): Promise<void> {
  const home = join(disk, "home/ann");
  appendFileSync(join(disk, "etc/passwd"), `ann:x:${ann}:${ann}::/home/ann:/bin/bash\n`);
  appendFileSync(join(disk, "etc/group"), `ann:x:${ann}:\n`);
  for (const folder of [home, join(disk, "etc/pam.d")]) mkdirSync(folder, { recursive: true });
  chownSync(home, ann, ann);
  writeFileSync(join(disk, "etc/pam.d/systemd-user"), pam);
  await get("systemctl", "start", `user@${ann}.service`);
}

/** Makes a machine ready to let root and ann in over SSH; the key that it takes. */
function prepareSsh(t: TestContext, { disk }: Machine): string {
  const folder = mkdtempSync(join(tmpdir(), "keys-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const settings = join(disk, "etc/ssh");
  mkdirSync(settings, { recursive: true });
  for (const file of [join(folder, "key"), join(settings, "host_key")])
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", file]);
  writeFileSync(join(settings, "keys"), readFileSync(join(folder, "key.pub")));
  // Without a word for it here an account is locked.
  const accounts = ["root", "ann"].map((name) => `${name}:*:20000:0:99999:7:::\n`);
  writeFileSync(join(disk, "etc/shadow"), accounts.join(""), { mode: 0o600 });
  const lines = [
    ...["HostKey /etc/ssh/host_key", "AuthorizedKeysFile /etc/ssh/keys", "StrictModes no"],
    ...["UsePAM no", "PermitRootLogin yes", `SetEnv PATH=${binaries}:/usr/sbin:/usr/bin`],
  ];
  writeFileSync(join(settings, "sshd_config"), `${lines.join("\n")}\n`);
  return readFileSync(join(folder, "key"), "utf8");
}

/** The port where its SSH server is: one process for each connection, as inetd(8) starts them. */
async function listen(t: TestContext, machine: Machine, address: string): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on("error", () => {}).once("close", () => open.delete(socket)));
    serve(machine, socket);
  })
    .listen(0, address)
    .unref();
  await once(server, "listening");
  const cutAll = () => {
    for (const socket of open) socket.destroy();
  };
  const timer = setInterval(() => initOf(machine) ?? cutAll(), 50).unref();
  t.after(() => {
    clearInterval(timer);
    cutAll();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const session = "mkdir -p /run/sshd; exec /usr/sbin/sshd -i -f /etc/ssh/sshd_config 2> /dev/null";

function serve(machine: Machine, socket: Socket): void {
  const init = initOf(machine);
  if (init === undefined) return void socket.destroy();
  const words = ["-t", init, "-m", "-p", "-n", "-u", "-i", "-C", "--", "bash", "-c", session];
  const child = spawn("nsenter", words, { stdio: ["pipe", "pipe", "ignore"] });
  socket.pipe(child.stdin.on("error", () => {}));
  child.stdout.pipe(socket);
  socket.once("close", () => child.kill("SIGKILL"));
}

/** The pid of its systemd; undefined when it is off, or at the end of its shutdown without a network. */
function initOf({ groups }: Machine): string | undefined {
  try {
    const [pid = ""] = readFileSync(join(groups, "init.scope/cgroup.procs"), "utf8").split("\n");
    return readFileSync(`/proc/${pid}/comm`, "utf8") === "systemd\n" ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** The systemd of the machine, and that of ann. */
function managersOf({ run }: Machine) {
  const words = ["setpriv", `--reuid=${ann}`, `--regid=${ann}`, "--clear-groups", "env"];
  const own = [...words, "HOME=/home/ann", `XDG_RUNTIME_DIR=/run/user/${ann}`, "systemctl"];
  return {
    root: (...verb: string[]): Promise<Ran> => run("systemctl", ...verb),
    ann: (...verb: string[]): Promise<Ran> => run(...own, "--user", ...verb),
  };
}
