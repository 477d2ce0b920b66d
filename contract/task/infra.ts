import { type Place, refuse } from "./place.ts";
import { filledText, reads } from "./readers.ts";

/** Where nodes may be created; undefined leaves it open. Cloud names are lower case. */
export interface Where {
  readonly cloud: string | undefined;
  readonly region: string | undefined;
  readonly zone: string | undefined;
}

/** `cloud`, `cloud/region`, `cloud/region/zone` with `*` for any; `k8s/context`; `ssh/pool`. */
export const infra = reads<Where>(filledText.schema, (place) => {
  const text = filledText(place)?.trim();
  if (text === undefined) return undefined;
  const [head = "", ...rest] = text.split("/");
  const cloud = cloudOf(head);
  // Names of Kubernetes contexts may contain slashes.
  const parts = cloud === "kubernetes" && rest.length > 0 ? [rest.join("/")] : rest;
  if (head === "" || parts.includes(""))
    return refuse(place, "has an empty part; write `*` for any cloud, region or zone");
  if (parts.length > 2)
    return refuse(place, "has more than three parts; write `cloud/region/zone`");
  const [region, zone] = parts;
  return checked(place, { cloud: open(cloud), region: open(region), zone: open(zone) });
});

/** The name of a cloud, in lower case and without short names. */
export const cloud = reads(filledText.schema, (place) => {
  const name = filledText(place);
  if (name === undefined) return undefined;
  return checked(place, { cloud: cloudOf(name), region: undefined, zone: undefined })?.cloud;
});

function checked(place: Place, where: Where): Where | undefined {
  if (where.cloud === undefined || /^[a-z][\w-]*$/.test(where.cloud)) return where;
  return refuse(place, "must begin with the name of a cloud, such as `aws` or `kubernetes`");
}

/** `kubernetes` for `k8s`; other names in lower case. */
export function cloudOf(name: string): string {
  const lower = name.trim().toLowerCase();
  return lower === "k8s" ? "kubernetes" : lower;
}

const open = (part: string | undefined) => (part === "*" ? undefined : part);

/** `ssh/pool` is within `ssh`, and everything within `*`. */
export const isWithin = (infra: string, wanted: string): boolean =>
  infra === wanted || infra.startsWith(`${wanted}/`) || wanted.startsWith("*");
