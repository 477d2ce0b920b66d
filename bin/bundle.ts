import { spawnSync } from "node:child_process";
import { chmod, cp, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { builtins } from "./bundle/builtins.ts";
import { licensesOf, packagesOf } from "./bundle/packages.ts";

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(root, "dist") },
    sourcemap: { type: "boolean", default: false },
  },
});
const dist = values.out;

/** What is shipped: the bundle of each program, by the file it starts from. */
const bundles = {
  outrigger: "client/main.ts",
  control: "control/main.ts",
  agent: "agent/main.ts",
  sidecar: "sidecar/main.ts",
  balancer: "control/balancer/main.ts",
} as const;

/** Folders that bundles read from beside them. */
const folders = [
  "control/clouds/catalog",
  "control/db/migrations",
  "control/pages",
  "control/recipes/shipped",
  "systemd",
];

/** Packages in the older module format ask for `require` and for their folder. */
const requireForModules =
  'const require=process.getBuiltinModule("node:module").createRequire(import.meta.url),' +
  "__dirname=import.meta.dirname;";

await rm(dist, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: Object.entries(bundles).map(([out, file]) => ({ in: join(root, file), out })),
  outdir: dist,
  absWorkingDir: root,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  metafile: true,
  define: { bundledCommit: JSON.stringify(findCommit() ?? null) },
  plugins: [builtins],
  platform: "node",
  target: "node24",
  format: "esm",
  // Names stay as they are: stacks can be read, and a table of names would cost the agent 0.7 MB.
  minifySyntax: true,
  minifyWhitespace: true,
  sourcemap: values.sourcemap,
  banner: { js: requireForModules },
  // Compiled parts that SSH uses where they fit the running Node.js; in a bundle it goes without.
  external: ["*.node", "cpu-features"],
  legalComments: "none",
  logLevel: "warning",
});
const packages = packagesOf(root, metafile);
await writeFile(join(dist, "packages.json"), `${JSON.stringify(packages, null, 2)}\n`);
await writeFile(join(dist, "licenses.txt"), licensesOf(root, packages));
for (const folder of folders)
  await cp(join(root, folder), join(dist, basename(folder)), { recursive: true });
for (const name of Object.keys(bundles)) await chmod(join(dist, `${name}.mjs`), 0o755);

/** The commit of this checkout, marked when files differ from it; undefined outside a checkout. */
function findCommit(): string | undefined {
  const git = (...words: string[]) => spawnSync("git", words, { cwd: root, encoding: "utf8" });
  // In a copy inside another repository, the commit would be that repository's.
  const { status, stdout } = git("rev-parse", "--show-cdup", "HEAD");
  const [above, commit] = stdout?.split("\n") ?? [];
  if (status !== 0 || above !== "") return undefined;
  const isClean = git("status", "--porcelain", "--untracked-files=no").stdout === "";
  return isClean ? commit : `${commit}-modified`;
}
