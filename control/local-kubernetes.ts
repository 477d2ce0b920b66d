import { spawn } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { createInterface } from "node:readline";
import { findEngine } from "../common/containers.ts";
import { fail } from "../common/errors.ts";
import { findProgram } from "../common/mounts.ts";
import type { InputOf } from "../common/operation.ts";
import { product } from "../common/product.ts";
import { localOperations as rows } from "../contract/operations/local.ts";
import { type Bound, bind, type Call } from "./bind.ts";
import type { Context } from "./context.ts";

/** A Kubernetes on the machine of control, made by kind: https://kind.sigs.k8s.io/docs/user/configuration */
export const localKubernetesOperations: Bound[] = [bind(rows.up, up), bind(rows.down, down)];

const nodesAtMost = 16;
/** Where kind has Services of type NodePort, and how many of them are reached from outside. */
const ports = { first: 30_000, count: 100, highest: 65_535 };
const linesKept = 5;
const lineAtMost = 1_000;

async function up(ctx: Context, input: InputOf<typeof rows.up>, call: Call): Promise<null> {
  const name = nameOf(input);
  const config = configOf(input);
  const isHalfMade = call.progress.kubernetes === name;
  const isThere = (await kind(ctx, call, ["get", "clusters"])).includes(name);
  if (isThere && isHalfMade) await kind(ctx, call, ["delete", "cluster", "--name", name]);
  if (isThere && !isHalfMade) call.print(`kind has a cluster ${name} already\n`);
  else {
    await call.remember({ kubernetes: name });
    call.print(`made by kind with ${partsOf(ctx).engine.name}\n`);
    const words = ["create", "cluster", "--name", name, "--wait", "5m", "--config", "-"];
    await kind(ctx, call, words, JSON.stringify(config));
  }
  if (input.gpus) call.print("kind gives its nodes no GPUs\n");
  call.print(`its context is kind-${name}: ${product.word} launch --infra k8s/kind-${name}\n`);
  return null;
}

async function down(ctx: Context, input: InputOf<typeof rows.down>, call: Call): Promise<null> {
  const name = nameOf(input);
  const isThere = (await kind(ctx, call, ["get", "clusters"])).includes(name);
  if (isThere) await kind(ctx, call, ["delete", "cluster", "--name", name]);
  else call.print(`kind has no cluster ${name}\n`);
  return null;
}

function nameOf({ name }: { name: string | null }): string {
  const given = name ?? product.word;
  if (!/^[a-z0-9][a-z0-9.-]{0,49}$/.test(given))
    fail("ValueError", "name: only lowercase letters, digits, dots and dashes, at most 50");
  return given;
}

function configOf({ num_nodes: nodes, port_start: start }: InputOf<typeof rows.up>): object {
  if (nodes < 1 || nodes > nodesAtMost) fail("ValueError", `num_nodes: from 1 to ${nodesAtMost}`);
  if (start !== null && (start < 1 || start + ports.count - 1 > ports.highest))
    fail("ValueError", `port_start: from 1 to ${ports.highest - ports.count + 1}`);
  const extraPortMappings = Array.from({ length: start === null ? 0 : ports.count }, (_, at) => ({
    ...{ containerPort: ports.first + at, hostPort: (start ?? 0) + at },
    listenAddress: "127.0.0.1",
  }));
  const workers = Array.from({ length: nodes - 1 }, () => ({ role: "worker" }));
  return {
    ...{ kind: "Cluster", apiVersion: "kind.x-k8s.io/v1alpha4" },
    nodes: [{ role: "control-plane", extraPortMappings }, ...workers],
  };
}

/** What makes a Kubernetes here. Throws `NotSupportedError` where something is missing. */
function partsOf({ config }: Context) {
  const path = config.nodeEnv["PATH"] ?? "";
  const file = findProgram(path, "kind");
  const engine = engineForKind(config.nodeEnv, path);
  const missing = [...(file ? [] : ["kind"]), ...(engine ? [] : ["docker or podman"])];
  if (file === undefined || engine === undefined)
    fail(
      "NotSupportedError",
      `control has no ${missing.join(" and no ")} on its machine that it can use; install it there, or point the kubeconfig of control at a Kubernetes that exists`,
    );
  // Left to choose, kind takes a docker whose daemon does not run.
  const chosen = { ...engine.env, KIND_EXPERIMENTAL_PROVIDER: engine.name };
  return { file, engine, env: { ...config.nodeEnv, ...chosen, HOME: homedir() } };
}

/** kind runs on docker or podman. An Apptainer that is preferred for jobs does not hide podman from it. */
function engineForKind(env: Context["config"]["nodeEnv"], path: string) {
  const found = findEngine(env, path);
  if (found?.name !== "apptainer") return found;
  const podman = findProgram(path, "podman");
  return podman === undefined ? undefined : { ...found, name: "podman" };
}

/** Runs kind to its end, and passes on what it tells people; the lines that it answers with. Throws `RuntimeError`. */
async function kind(
  ctx: Context,
  { print, signal }: Call,
  words: readonly string[],
  input = "",
): Promise<string[]> {
  const { file, env } = partsOf(ctx);
  const where = words[0] === "get" ? [] : ["--kubeconfig", ctx.config.kubeconfig];
  const child = spawn(file, [...words, ...where], { env, signal });
  // One that ends early reads no more.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const answered: string[] = [];
  const told: string[] = [];
  createInterface(child.stdout).on("line", (line) => answered.push(line));
  createInterface(child.stderr).on("line", (line) => {
    if (line.trim() === "") return;
    // What went wrong, and then the end of what was printed by the command that did.
    if (line.startsWith("ERROR:")) told.length = 0;
    told.push(line.trim().slice(0, lineAtMost));
    if (told.length > linesKept) told.splice(told[0]?.startsWith("ERROR:") ? 1 : 0, 1);
    if (words[0] !== "get") print(`${line.slice(0, lineAtMost)}\n`);
  });
  const [code] = await once(child, "close");
  if (code === 0) return answered;
  return fail("RuntimeError", `kind ${words.slice(0, 2).join(" ")}: ${told.join("; ")}`);
}
