import { readFileSync } from "node:fs";
import { ifPossible } from "../../common/errors.ts";

/** Clouds that announce on a metadata endpoint that a node is taken away. */
export type Cloud = "aws" | "gcp" | "azure";

/** What the firmware says of the machine; empty text where it says nothing. */
export interface Dmi {
  readonly vendor: string;
  readonly product: string;
  readonly bios: string;
  readonly chassis: string;
}

/** Which cloud made the machine. Source: what cloud-init's ds-identify looks at. */
export function cloudOf({ vendor, product, bios, chassis }: Dmi): Cloud | "none" {
  if (vendor === "Amazon EC2" || bios.endsWith(".amazon")) return "aws";
  if (product === "Google Compute Engine") return "gcp";
  return chassis === "7783-7084-3265-9085-8269-3286-77" ? "azure" : "none";
}

/** What the firmware of this machine says. */
export const readDmi = (): Dmi => ({
  vendor: readId("sys_vendor"),
  product: readId("product_name"),
  bios: readId("bios_version"),
  chassis: readId("chassis_asset_tag"),
});

const readId = (name: string): string =>
  ifPossible(() => readFileSync(`/sys/class/dmi/id/${name}`, "utf8"))?.trim() ?? "";
