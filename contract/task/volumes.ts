import { diskGb } from "./amounts.ts";
import { child, gives, isFull, type Place, refuse } from "./place.ts";
import {
  choice,
  fields,
  filledText,
  flag,
  isMapping,
  keysOf,
  mappingOf,
  type Reader,
  readFields,
  reads,
  text,
} from "./readers.ts";
import { either, map, mapping } from "./schema.ts";
import { type Lookup, substitute, substituteText } from "./substitution.ts";

/**
 * A volume at a path of every node: one that exists, a folder of the host, or one that lives as long as
 * the cluster. The last two are checked, and used by nothing.
 */
export type VolumeMount =
  | { readonly kind: "named"; readonly name: string; readonly subPath: string | undefined }
  | { readonly kind: "host" | "ephemeral" };

/** Reads `volumes`: a mapping from the path on the node to a volume. */
export function readVolumes(place: Place, lookup: Lookup): Record<string, VolumeMount> {
  if (place.value === undefined || place.value === null) return {};
  const mounts = new Map<string, VolumeMount>();
  for (const key of keysOf(place) ?? []) {
    if (isFull(place)) break;
    const at = child(place, key);
    const path = substituteText(key, lookup).replace(/(?<=[^/]|^\/)\/+$/, "");
    const mount = readMount({ ...at, value: substitute(at.value, lookup) });
    if (mount !== undefined) addMount(at, mounts, path, mount);
  }
  return Object.fromEntries(mounts);
}

function addMount(at: Place, mounts: Map<string, VolumeMount>, path: string, mount: VolumeMount) {
  const isSame = (other: VolumeMount) =>
    other.kind === "named" && mount.kind === "named" && other.name === mount.name;
  if (mounts.has(path)) refuse(at, "is already the path of another volume");
  else if ([...mounts.values()].some(isSame)) refuse(at, "mounts a volume that is already mounted");
  mounts.set(path, mount);
}

const subPath = reads(filledText.schema, (place) => {
  const path = filledText(place);
  if (path === undefined) return undefined;
  const isSafe = /^[\w.-]+(?:\/[\w.-]+)*\/?$/.test(path) && !path.split("/").includes("..");
  if (isSafe) return path;
  return refuse(
    place,
    "must be a relative path of letters, digits, `.`, `_`, `-` and `/`, without `..`",
  );
});

const hostPath = reads(filledText.schema, (place) => {
  const path = filledText(place);
  if (path === undefined || /^\/+[^/]/.test(path)) return path;
  return refuse(place, "must be an absolute path on the host, and not `/`");
});

const hostReaders = { host_path: hostPath, mode: choice("ro", "rw") };

const readers = {
  name: filledText,
  sub_path: subPath,
  size: diskGb,
  type: choice("k8s-pvc"),
  labels: mappingOf(text),
  config: fields({
    storage_class_name: filledText,
    access_mode: filledText,
    namespace: filledText,
    host_path: filledText,
    cleanup_on_deletion: flag,
  }),
};
export const volumesSchema = map(either(text.schema, mapping({ ...readers, ...hostReaders })));

const readMount: Reader<VolumeMount> = (place) => {
  if (!isMapping(place.value)) {
    const name = filledText(place);
    return name === undefined ? undefined : { kind: "named", name, subPath: undefined };
  }
  if (gives(place, "host_path")) {
    const { host_path: path } = readFields(place, hostReaders);
    return path === undefined ? undefined : { kind: "host" };
  }
  const given = readFields(place, readers);
  if (!gives(place, "name") && !gives(place, "size"))
    return refuse(place, "needs `name` of a volume, or `size` of one to make", "missing");
  if (gives(place, "name") && gives(place, "size"))
    return refuse(place, "cannot have both `name` and `size`: a volume exists, or is made");
  if (given.name !== undefined) return { kind: "named", name: given.name, subPath: given.sub_path };
  if (gives(place, "sub_path")) refuse(child(place, "sub_path"), "goes only with `name`");
  return given.size === undefined ? undefined : { kind: "ephemeral" };
};
