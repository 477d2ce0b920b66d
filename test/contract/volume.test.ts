import assert from "node:assert/strict";
import { test } from "node:test";
import { readVolume } from "../../contract/volume.ts";

const name = "data";
const nfs = { name, type: "nfs", config: { server: "nas", path: "/export" } };
const pvc = { name, type: "k8s-pvc" };

for (const fields of [
  { name, type: "folder", infra: "local" },
  {
    name,
    type: "folder",
    infra: "ssh/lab/a",
    config: { host_path: "/srv", cleanup_on_deletion: true },
  },
  { name, type: "folder", infra: "ssh/lab", use_existing: true, config: { host_path: "/mnt/x" } },
  { ...nfs, infra: "ssh", size: 10 },
  { ...pvc, infra: "k8s", size: "10Gi", config: { access_mode: "ReadWriteMany", namespace: "n" } },
  { ...pvc, use_existing: true },
  { name, type: "k8s-hostpath", config: { host_path: "/srv" } },
  { name, type: "runpod-network-volume", infra: "runpod/US/CA-1", size: "10Gi" },
])
  test(`a volume may be ${JSON.stringify(fields)}`, () => {
    assert.equal(readVolume(fields).type, fields.type);
  });

const refused: readonly [fields: object, says: RegExp][] = [
  [{}, /name: .*; type: must be one of folder, nfs, k8s-pvc/],
  [{ ...nfs, name: "a/b" }, /name: must have up to 63 letters/],
  [{ ...nfs, sise: 1 }, /Unrecognized key: "sise"/],
  [{ ...nfs, infra: "ssh/*" }, /infra: must name one place, without \* and empty parts/],
  [{ ...nfs, infra: "k8s" }, /infra: must be local, ssh or ssh\/POOL/],
  [{ ...nfs, config: {} }, /config.server: is needed.*; config.path: is needed/],
  [
    { ...nfs, config: { server: "nas -x", path: "/" } },
    /config.server: must be the name.*config.path: must be an absolute path, and not \//,
  ],
  [
    { ...nfs, config: { ...nfs.config, mount_options: "ro; rm" } },
    /config.mount_options: must be options/,
  ],
  [{ name, type: "folder" }, /infra: must be local, ssh\/POOL\/HOST or ssh\/POOL/],
  [
    { name, type: "folder", infra: "ssh/lab" },
    /infra: must name one host, ssh\/POOL\/HOST, unless/,
  ],
  [{ name, type: "folder", infra: "local", use_existing: true }, /config.host_path: names what/],
  [
    {
      ...{ name, type: "folder", infra: "local", use_existing: true },
      config: { host_path: "/x", cleanup_on_deletion: true },
    },
    /config.cleanup_on_deletion: is for folders that are made: one that is used as it is stays/,
  ],
  [{ ...pvc, infra: "k8s" }, /size: is needed, unless use_existing is true/],
  [{ ...pvc, infra: "aws", size: "1Gi" }, /infra: must be k8s or k8s\/CONTEXT/],
  [{ ...pvc, name: "Data", use_existing: true }, /name: is no name of a claim/],
  [{ ...pvc, size: "0" }, /size: must be a size such as 100Gi/],
  [
    { name, type: "runpod-network-volume", infra: "runpod", size: "5Gi" },
    /infra: .*; size: must be at least 10Gi/,
  ],
];

for (const [fields, says] of refused)
  test(`no volume is ${JSON.stringify(fields)}`, () => {
    assert.throws(() => readVolume(fields), { type: "ValueError", message: says });
  });
