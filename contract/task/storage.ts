import { child, type Place, refuse } from "./place.ts";
import {
  choice,
  data,
  fields,
  filledText,
  flag,
  ignored,
  isMapping,
  listOf,
  reads,
} from "./readers.ts";
import { either } from "./schema.ts";
import {
  type MountOptions,
  mountSettings,
  readMountOptions,
  type StorageMode,
  storageModes,
} from "./storage-options.ts";
import { baseNameOf, hasObject, isUri, schemeOf, stores } from "./storage-uri.ts";

/** A bucket, and how nodes see it. */
export interface Storage {
  readonly name: string | undefined;
  /** Folders and files of the caller, or one bucket; empty for a bucket that is only named. */
  readonly sources: readonly string[];
  /** Whether several sources may be given: each lies in the bucket by its name then. */
  readonly isList: boolean;
  readonly store: (typeof stores)[number] | undefined;
  /** Whether the bucket stays when the cluster is taken down. */
  readonly persistent: boolean;
  readonly mode: StorageMode;
  readonly options: MountOptions;
}

const texts = listOf(filledText);
const source = reads(either(filledText.schema, texts.schema), (place) => {
  if (Array.isArray(place.value))
    return place.value.length > 0 ? texts(place) : refuse(place, "must not be empty");
  const one = filledText(place);
  return one === undefined ? undefined : [one];
});

const settings = fields({
  name: filledText,
  source,
  store: choice(...stores),
  persistent: flag,
  mode: choice(...storageModes),
  type: choice("MODEL_CHECKPOINT_RO", "MODEL_CHECKPOINT_RW", "DATASET_RO", "DATASET_RW"),
  config: reads(mountSettings.schema, data),
  _is_sky_managed: ignored,
  _bucket_sub_path: ignored,
  _force_delete: ignored,
});

/** A storage mapping under `file_mounts`. */
export const storage = reads<Storage>(settings.schema, (place) => {
  const given = settings(place) ?? {};
  const mode = given.mode ?? "MOUNT";
  const sources = given.source ?? [];
  checkName(place, given.name, sources);
  checkSources(child(place, "source"), sources, mode);
  if (given.type !== undefined && mode !== "MOUNT_CACHED")
    refuse(child(place, "type"), "needs `mode: MOUNT_CACHED`");
  return {
    name: given.name,
    sources,
    isList: isMapping(place.value) && Array.isArray(place.value["source"]),
    store: given.store,
    persistent: given.persistent ?? true,
    mode,
    options: readMountOptions(child(place, "config"), mode),
  };
});

function checkName(place: Place, name: string | undefined, sources: readonly string[]): void {
  const { value } = place;
  const isGiven = (key: string) =>
    isMapping(value) && value[key] !== undefined && value[key] !== null;
  const isBucket = sources.some(isUri);
  if (name === undefined && !isGiven("name")) {
    if (!isGiven("source")) refuse(place, "needs a `name` or a `source`", "missing");
    else if (sources.length > 0 && !isBucket)
      refuse(place, "needs `name`, the bucket that the local source goes to", "missing");
  }
  if (name === undefined) return;
  const at = child(place, "name");
  if (isBucket) refuse(at, "cannot be combined with a source that is a bucket; leave it out");
  else if (schemeOf(name) !== undefined)
    refuse(at, "must be the bare name of a bucket, without a scheme");
  else if (!/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/.test(name))
    refuse(
      at,
      "must be 3 to 63 lower-case letters, digits, `.`, `_` or `-`, a letter or digit at both ends",
    );
}

function checkSources(place: Place, sources: readonly string[], mode: StorageMode): void {
  const isList = Array.isArray(place.value);
  const names = sources.map(baseNameOf);
  for (const [at, one] of sources.entries()) {
    const item = isList ? child(place, at) : place;
    const scheme = schemeOf(one);
    if (scheme !== undefined && !isUri(one))
      refuse(item, `has the unknown scheme \`${scheme}://\``);
    else if (isUri(one) && isList)
      refuse(item, "must be a local path; a bucket cannot be in a list");
    else if (isUri(one) && mode !== "COPY" && hasObject(one))
      refuse(item, "must be a whole bucket, not something in it; or use `mode: COPY`");
    else if (isList && names.indexOf(names[at] ?? "") < at)
      refuse(item, "has the same last part as an entry above; one would hide the other");
  }
}
