import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findProgram } from "../../common/mounts.ts";
import { whyNoEngine } from "./engines.ts";

/** Why a test cannot have what stands in for Apptainer; false where it can. */
export function whyNoApptainer(): string | false {
  if (findProgram(process.env["PATH"] ?? "", "python3") === undefined) return "needs python3";
  return whyNoEngine("podman");
}

/** Puts what stands in for Apptainer into a folder of programs, and has images for it. */
export function installApptainer(folder: string) {
  mkdirSync(folder, { recursive: true });
  cpSync(join(import.meta.dirname, "../fixtures/apptainer"), join(folder, "apptainer"));
  return {
    /** Makes an image of an archive; one with a login or a proxy can be pulled with that alone, and an endless one never. */
    addImage(
      name: string,
      archive: string,
      more: { login?: string; proxy?: string; endless?: boolean } = {},
    ): void {
      const at = join(folder, "apptainer-images", name);
      mkdirSync(dirname(at), { recursive: true });
      if (!existsSync(`${at}.tar`)) cpSync(archive, `${at}.tar`);
      const env = { PATH: "/opt/tool/bin:/usr/bin:/bin", OF_IMAGE: "yes" };
      writeFileSync(`${at}.json`, JSON.stringify({ env, ...more }));
    },
  };
}
