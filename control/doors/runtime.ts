/** A Node.js that runs on any Linux: the program, and the loader and the libraries that it needs. */

/**
 * Starts Node.js by the loader beside it, of which the environment of what Node.js starts shows nothing. The loader is
 * `process.execPath` then; `nodeProgram` is what to start instead.
 */
const starter = `#!/bin/sh
lib=\${0%/*}/../lib
exec "$lib/ld.so" --library-path "$lib" "$lib/node" "$@"
`;

/**
 * Leaves the Node.js that runs this, as `lib/node`, in the folder that is its argument, with all that is loaded, and
 * `bin/node`, which starts that. Before 2.34, glibc loads some of its own libraries when it first looks up a name.
 */
export const gatherScript = `
const { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } = require("node:fs");
const { basename, dirname, join } = require("node:path");
const [, out] = process.argv;
for (const folder of ["bin", "lib"]) mkdirSync(join(out, folder), { recursive: true });
process.report.excludeNetwork = true;
const loaded = process.report.getReport().sharedObjects.filter((file) => file.startsWith("/"));
const libc = loaded.find((file) => file.endsWith("/libc.so.6"));
const later = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];
const all = libc ? [...loaded, ...later.map((name) => join(dirname(libc), name)).filter(existsSync)] : loaded;
for (const file of all) copyFileSync(file, join(out, "lib", basename(file).replace(/^ld-.*/, "ld.so")));
copyFileSync(process.execPath, join(out, "lib/node"));
writeFileSync(join(out, "bin/node"), ${JSON.stringify(starter)});
for (const file of ["bin/node", "lib/node", "lib/ld.so"]) chmodSync(join(out, file), 0o755);`;

/** What `settle` exits with where Node.js does not start. */
export const unsettledCode = 3;

/**
 * A shell function: of a runtime that was unpacked in the folder $1, leaves only the program where that starts by itself.
 * Fails with the reason where Node.js does not start at all.
 */
export const settleScript = `
settle() {
  if "$1/lib/node" --version > /dev/null 2>&1; then
    mv -f "$1/lib/node" "$1/bin/node"
    rm -rf "$1/lib"
  elif ! __said=$("$1/bin/node" --version 2>&1); then
    echo "Node.js from control does not start: $__said; use an image or a host with glibc, or with its own Node.js 24" >&2
    exit ${unsettledCode}
  fi
}`;
