import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";

const module = "helm.sh/helm/v3/cmd/helm@v3.18.6";
const places = ["helm", join(homedir(), "go/bin/helm")];
const found = places.find((place) => spawnSync(place, ["version"]).status === 0);

/** Why there is no Helm; false where there is one. */
export const whyNoHelm = (): string | false =>
  found === undefined && `helm is not installed: go install ${module}`;

/** The chart of control. */
export const chart = join(import.meta.dirname, "../../deploy/helm");

/** Runs Helm with values of the chart. */
export function helm(command: readonly string[], values: object) {
  const input = JSON.stringify(values);
  // Built from source, Helm takes an old Kubernetes for what it speaks to.
  const words = [...command, "--values", "-", "--kube-version", "1.34.0"];
  return spawnSync(found ?? "", words, { encoding: "utf8", input });
}

/** The objects that an installation makes, in the order in which they are made. */
export function objectsOf(values: object, ...words: readonly string[]) {
  const { status, stdout, stderr } = helm(["template", "outrigger", chart, ...words], values);
  assert.equal(status, 0, stderr);
  return parseAllDocuments(stdout).map((document) => document.toJS());
}
