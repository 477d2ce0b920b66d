import { isBuiltin } from "node:module";
import type { Plugin } from "esbuild";

/**
 * Has a bundle take the modules of Node.js without its loader of ES modules, which reads all that a
 * module exports, among it parts that are loaded for nobody: a tenth of the start of the sidecar.
 */
export const builtins: Plugin = {
  name: "builtins",
  setup(build) {
    build.onResolve({ filter: /./ }, ({ path, kind }) =>
      kind === "import-statement" && isBuiltin(path) ? { path, namespace: "builtin" } : undefined,
    );
    build.onLoad({ filter: /./, namespace: "builtin" }, ({ path }) => ({
      contents: sourceOf(path),
    }));
  },
};

/** A module whose exports are read one by one, and only those that are used. */
function sourceOf(path: string): string {
  const names = Object.keys(process.getBuiltinModule(path) ?? {}).filter(
    (name) => name !== "default",
  );
  return [
    `const builtin = /* @__PURE__ */ process.getBuiltinModule(${JSON.stringify(path)});`,
    "const exported = (name) => builtin[name];",
    ...names.map((name) => `export const ${name} = /* @__PURE__ */ exported("${name}");`),
    "export default builtin;",
  ].join("\n");
}
