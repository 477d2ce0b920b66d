import * as option from "./options.ts";
import { inGroup } from "./row.ts";

const hosts = "Your own machines:";
const pools = "Without names, it applies to every pool.";

/** Commands about pools of machines that are reached over SSH. */
export const sshCommands = inGroup(hosts, {
  "ssh up": {
    operands: "[pools...]",
    summary: "Set up the hosts of pools for clusters.",
    options: {
      "-f, --file <yaml>": "Save the pools in this file (- is stdin) first, and upload their keys.",
    },
    more: `${pools} A file maps names to pools:

  lab:
    user: ana
    identity_file: ~/.ssh/id_ed25519
    hosts:
      - 10.0.0.5
      - {ip: 10.0.0.6, user: bob, proxy_jump: gate.lab.org}
      - {ip: 10.0.0.7, drain: true}    # no new clusters; now: also move its cluster

Then: outrigger launch --infra ssh/lab task.yaml

Examples:
  outrigger ssh up -f pools.yaml                  save the pools in a file, and set up their hosts
  outrigger ssh up lab                            set up the hosts of a saved pool again`,
    startsControl: true,
  },
  "ssh down": {
    operands: "[pools...]",
    summary: "Remove Outrigger from the hosts of pools.",
    options: { "--force": "Drop hosts that left a pool and cannot be cleaned." },
    more: `${pools} Refused while clusters use them. The pools stay saved for the next "ssh up"; "ssh forget" deletes them.

Examples:
  outrigger ssh down lab`,
  },
  "ssh forget": {
    operands: "<pools...>",
    summary: "Delete pools and remove Outrigger from their hosts.",
    more: `Refused while clusters use them. Private keys uploaded for them are deleted too, unless another pool uses them.

Examples:
  outrigger ssh forget lab`,
  },
  "ssh status": {
    operands: "[pools...]",
    summary: "Show the state of pools and their hosts.",
    options: { ...option.outputs },
    more: `${pools}

Examples:
  outrigger ssh status`,
  },
  "ssh keys": {
    operands: "[files...]",
    summary: "List the private keys on the control plane, or upload keys.",
    options: { ...option.outputs },
    more: `A key is named after its file. Keys cannot be read back.

Examples:
  outrigger ssh keys
  outrigger ssh keys ~/.ssh/id_ed25519            upload one`,
  },
});
