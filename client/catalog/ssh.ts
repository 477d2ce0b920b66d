import * as option from "./options.ts";
import type { CommandRow } from "./row.ts";

const hosts = "Machines of your own:";
const pools = "Without names it is about every pool.";

/** Commands about pools of machines that are reached over SSH. */
export const sshCommands: readonly CommandRow[] = [
  {
    name: "ssh up",
    group: hosts,
    operands: "[pools...]",
    summary: "Make the hosts of pools ready for clusters.",
    options: [
      { flags: "-f, --file <yaml>", means: "Write these pools down first, and upload their keys." },
    ],
    more: `${pools} A file maps names to pools:

  lab:
    user: ana
    identity_file: ~/.ssh/id_ed25519
    hosts:
      - 10.0.0.5
      - {ip: 10.0.0.6, user: bob, proxy_jump: gate.lab.org}
      - {ip: 10.0.0.7, drain: true}    # takes no new cluster; "now": the one it has moves

Then: outrigger launch --infra ssh/lab task.yaml`,
    load: async () => (await import("../commands/ssh.ts")).up,
  },
  {
    name: "ssh down",
    group: hosts,
    operands: "[pools...]",
    summary: "Remove all that is ours from the hosts of pools.",
    options: [{ flags: "--force", means: "Give up hosts that left a pool and cannot be cleaned." }],
    more: `${pools} Refused while clusters are on them. The pools stay written down for the next "ssh up"; "ssh forget" forgets them.`,
    load: async () => (await import("../commands/ssh.ts")).down,
  },
  {
    name: "ssh forget",
    group: hosts,
    operands: "<pools...>",
    summary: "Forget pools; what is ours on their hosts is removed as well.",
    options: [],
    more: "Refused while clusters are on them. Private keys that were uploaded for them go too, unless another pool has them.",
    load: async () => (await import("../commands/ssh.ts")).forget,
  },
  {
    name: "ssh status",
    group: hosts,
    operands: "[pools...]",
    summary: "Tell how pools and their hosts are.",
    options: [option.output],
    more: pools,
    load: async () => (await import("../commands/ssh.ts")).status,
  },
  {
    name: "ssh keys",
    group: hosts,
    operands: "[files...]",
    summary: "List the private keys that control has, or upload some.",
    options: [option.output],
    more: "A key goes by the name of its file. Nobody can read it back.",
    load: async () => (await import("../commands/ssh.ts")).keys,
  },
];
