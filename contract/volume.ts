import * as z from "zod";
import { fail } from "../common/errors.ts";
import { mapOf, text } from "./caps.ts";
import { parseGigabytes } from "./task/units.ts";

/** What volumes are made of, and what each needs. `isHere` are those of providers that there are by now. */
export const volumeTypes = {
  folder: { means: "a folder of a machine", isHere: true },
  nfs: { means: "an export of an NFS server, mounted by the nodes", isHere: true },
  "k8s-pvc": { means: "a claim of Kubernetes", isHere: true },
  "k8s-hostpath": { means: "a folder of nodes of Kubernetes", isHere: false },
  "runpod-network-volume": { means: "a network volume of RunPod", isHere: false },
} as const;
type VolumeType = keyof typeof volumeTypes;

const typeNames = Object.keys(volumeTypes) as [VolumeType, ...VolumeType[]];

const folderPath = text.regex(/^\/+[^/]/, "must be an absolute path, and not /");

const Config = z.strictObject({
  host_path: folderPath.optional(),
  cleanup_on_deletion: z.boolean().optional(),
  server: text.regex(/^[\w.:-]+$/, "must be the name or address of an NFS server").optional(),
  path: folderPath.optional(),
  mount_options: text.regex(/^[\w=.,:/-]+$/, "must be options as for mount -o").optional(),
  storage_class_name: text.optional(),
  access_mode: z
    .enum(["ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany", "ReadOnlyMany"])
    .optional(),
  namespace: text.optional(),
});

/** A volume as its document describes it. */
export const VolumeDocument = z
  .strictObject({
    name: text.regex(
      /^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/,
      "must have up to 63 letters, digits, - _ and ., and begin and end with a letter or digit",
    ),
    type: z.enum(typeNames, { error: `must be one of ${typeNames.join(", ")}` }),
    infra: text.optional(),
    size: z.union([text, z.number()]).transform(String).optional(),
    use_existing: z.boolean().default(false),
    labels: mapOf(text).default({}),
    config: Config.default({}),
  })
  .superRefine((volume, ctx) => {
    for (const [path, message] of problemsOf(volume))
      ctx.addIssue({ code: "custom", path: path.split("."), message });
  });
export type VolumeDocument = z.output<typeof VolumeDocument>;

/** Reads the fields of a volume. Throws `ValueError` with all that is wrong with them. */
export function readVolume(fields: unknown): VolumeDocument {
  const { success, data, error } = VolumeDocument.safeParse(fields);
  if (success) return data;
  const problems = error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join(".")}: ${message}`,
  );
  return fail("ValueError", `Invalid volumes config: ${problems.join("; ")}`);
}

type Problem = readonly [path: string, message: string];

function problemsOf(volume: VolumeDocument): Problem[] {
  const { infra, size } = volume;
  const isPlain = infra === undefined || infra.split("/").every((part) => part && part !== "*");
  const gb = size === undefined ? undefined : parseGigabytes(size);
  return [
    ...unless(isPlain, "infra", "must name one place, without * and empty parts"),
    ...unless(size === undefined || (gb ?? 0) > 0, "size", "must be a size such as 100Gi"),
    ...rules[volume.type](volume, infra?.split("/") ?? [], gb),
  ];
}

type Rules = (
  volume: VolumeDocument,
  infra: readonly string[],
  gb: number | undefined,
) => Problem[];

const rules: Readonly<Record<VolumeType, Rules>> = {
  folder({ use_existing: isExisting, config }, infra) {
    const { host_path: path, cleanup_on_deletion: cleansUp = false } = config;
    const isPool = infra[0] === "ssh" && infra.length === 2;
    const isPlace = infra.length === 1 ? infra[0] === "local" : infra[0] === "ssh";
    return [
      ...unless(isPlace && infra.length <= 3, "infra", "must be local, ssh/POOL/HOST or ssh/POOL"),
      ...unless(!isPool || isExisting, "infra", poolNeeds),
      ...unless(!isExisting || path !== undefined, "config.host_path", "names what is to be used"),
      ...unless(!(isExisting && cleansUp), "config.cleanup_on_deletion", stays),
      ...own(config, ["host_path", "cleanup_on_deletion"]),
    ];
  },
  nfs: ({ config }, [cloud = "ssh"]) => [
    ...unless(["local", "ssh"].includes(cloud), "infra", "must be local, ssh or ssh/POOL"),
    ...unless(config.server !== undefined, "config.server", "is needed: the NFS server"),
    ...unless(config.path !== undefined, "config.path", "is needed: what the server exports"),
    ...own(config, ["server", "path", "mount_options"]),
  ],
  "k8s-pvc": ({ name, size, use_existing: isExisting, config }, infra) => [
    ...onKubernetes(infra),
    ...unless(!isExisting || /^[a-z0-9.-]+$/.test(name), "name", "is no name of a claim"),
    ...unless(isExisting || size !== undefined, "size", "is needed, unless use_existing is true"),
    ...own(config, ["storage_class_name", "access_mode", "namespace"]),
  ],
  "k8s-hostpath": ({ config }, infra) => [
    ...onKubernetes(infra),
    ...unless(config.host_path !== undefined, "config.host_path", "is needed"),
    ...own(config, ["host_path", "cleanup_on_deletion", "access_mode", "namespace"]),
  ],
  "runpod-network-volume": ({ use_existing: isExisting, config }, infra, gb = 0) => [
    ...unless(infra[0] === "runpod" && infra.length === 3, "infra", "must be runpod/REGION/ZONE"),
    ...unless(isExisting || gb >= 10, "size", "must be at least 10Gi"),
    ...own(config, []),
  ],
};

const poolNeeds =
  "must name one host, ssh/POOL/HOST, unless use_existing says that all hosts share the folder";
const stays = "is for folders that are made: one that is used as it is stays";

const onKubernetes = ([cloud = "k8s"]: readonly string[]): Problem[] =>
  unless(
    ["k8s", "kubernetes"].includes(cloud.toLowerCase()),
    "infra",
    "must be k8s or k8s/CONTEXT",
  );

const unless = (isFine: boolean, path: string, message: string): Problem[] =>
  isFine ? [] : [[path, message]];

/** Settings of other types mean nothing to one. */
const own = (config: VolumeDocument["config"], known: readonly string[]): Problem[] =>
  Object.keys(config)
    .filter((key) => !known.includes(key))
    .map((key) => [`config.${key}`, `is not for this type; known are ${known.join(", ")}`]);
