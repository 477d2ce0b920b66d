import { protocol } from "../../common/product.ts";
import { child, isFull, type Place, refuse } from "./place.ts";
import { filledText, isMapping, keysOf } from "./readers.ts";
import { either, map } from "./schema.ts";
import { type Storage, storage } from "./storage.ts";
import { isUri, knownSchemes, schemeOf } from "./storage-uri.ts";
import { type Lookup, substitute, substituteText } from "./substitution.ts";

/** What lies at a path of every node when setup begins. */
export type FileMount =
  | { readonly kind: "path"; readonly source: string }
  | { readonly kind: "bucket"; readonly uri: string }
  | { readonly kind: "storage"; readonly storage: Storage };

/** Where the folder of `workdir` lies on nodes; nothing else can be put there. */
const workdirPath = `~/${protocol.requestPrefix}_workdir`;

export const fileMountsSchema = map(either(filledText.schema, storage.schema));

/** Reads `file_mounts`: a mapping from the path on the node to what shall lie there. */
export function readFileMounts(
  place: Place,
  lookup: Lookup,
  hasWorkdir: boolean,
): Record<string, FileMount> {
  if (place.value === undefined || place.value === null) return {};
  const mounts = new Map<string, FileMount>();
  for (const key of keysOf(place) ?? []) {
    if (isFull(place)) break;
    const at = child(place, key);
    const destination = substituteText(key, lookup);
    refuseDestination(at, destination, hasWorkdir);
    const mount = readMount({ ...at, value: substitute(at.value, lookup) });
    if (mount !== undefined) mounts.set(destination, mount);
  }
  return Object.fromEntries(mounts);
}

function refuseDestination(place: Place, destination: string, hasWorkdir: boolean): void {
  if (schemeOf(destination) !== undefined)
    refuse(place, "must go to a path on the node; the bucket belongs to the right");
  if (hasWorkdir && destination.replace(/(?<!\/)\/+$/, "") === workdirPath)
    refuse(place, "is where `workdir` goes; use one of them, or another path");
}

function readMount(place: Place): FileMount | undefined {
  const { value } = place;
  if (isMapping(value)) {
    const read = storage(place);
    return read && { kind: "storage", storage: read };
  }
  if (typeof value !== "string" || value === "")
    return refuse(place, "must be a path, the address of a bucket, or a mapping", "type_error");
  if (isUri(value)) return { kind: "bucket", uri: value };
  const scheme = schemeOf(value);
  if (scheme !== undefined)
    return refuse(
      place,
      `has the unknown scheme \`${scheme}://\`; expected one of ${knownSchemes.join(", ")}`,
    );
  if (value.endsWith("/")) return refuse(place, "must be a source that does not end with a slash");
  return { kind: "path", source: value };
}
