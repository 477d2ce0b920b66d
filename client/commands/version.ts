import { findCommit } from "../../common/commit.ts";
import { product, protocol } from "../../common/product.ts";
import { versionForm } from "../output/installation.ts";
import { sheet } from "../rendering.ts";
import type { Run } from "../world.ts";
import { answerOne, type OutputOptions } from "./answers.ts";

/** `outrigger version`. */
export const version: Run<OutputOptions> = async (world, _operands, options) => {
  const { apiVersion, minApiVersion } = protocol;
  const platform = `${process.platform}-${process.arch}`;
  if (world.json)
    return answerOne(world, options, versionForm, {
      version: product.version,
      commit: findCommit() ?? null,
      ...{ api_version: apiVersion, min_api_version: minApiVersion },
      ...{ node: process.versions.node, platform },
    });
  const { terminal } = world;
  const facts = [
    [product.title, product.version],
    ["Commit", findCommit() ?? "unknown"],
    ["API versions", `${minApiVersion} to ${apiVersion}`],
    ["Node.js", `${process.versions.node} (${platform})`],
  ] as const;
  terminal.answer(sheet(facts, terminal.paint));
};
