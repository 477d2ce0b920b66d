import { type Place, refuse } from "./place.ts";
import { filledText, isMapping, mappingOf, reads } from "./readers.ts";
import { either } from "./schema.ts";

/** What a node boots, or the container that jobs run in. */
export type Image =
  | { readonly kind: "container"; readonly name: string }
  | { readonly kind: "machine"; readonly id: string }
  | { readonly kind: "machines"; readonly idByRegion: Readonly<Record<string, string>> };

const containerPrefix = "docker:";

/** What can be the name of an image, and is no option of a command line. */
export const imageName = /^[^\s-]\S*$/;

/** The key of an image for regions that have none of their own; existing clients write it for every image. */
export const anyRegion = String(null);

const ids = mappingOf(filledText);

/** `docker:<image>`, the id of a machine image, or such ids by region. */
export const image = reads<Image>(either(filledText.schema, ids.schema), (place) => {
  if (!isMapping(place.value)) {
    const id = filledText(place);
    return id === undefined ? undefined : imageOf(place, id);
  }
  const idByRegion = ids(place) ?? {};
  const images = Object.values(idByRegion);
  if (images.length === 0) return refuse(place, "must name an image for at least one region");
  const [first = "", ...others] = images;
  if (others.length === 0 && anyRegion in idByRegion) return imageOf(place, first);
  const containers = new Set(images.filter((id) => id.startsWith(containerPrefix)));
  if (containers.size === 0) return { kind: "machines", idByRegion };
  const [name = ""] = containers;
  if (containers.size === 1 && images.every((id) => id === name)) return imageOf(place, name);
  return refuse(place, "cannot mix containers and machine images by region");
});

function imageOf(place: Place, id: string): Image | undefined {
  if (!id.startsWith(containerPrefix)) return { kind: "machine", id };
  const name = id.slice(containerPrefix.length);
  if (!imageName.test(name))
    return refuse(place, "must be docker:IMAGE, where IMAGE is a name such as debian:12");
  return { kind: "container", name };
}
