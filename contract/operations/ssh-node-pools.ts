import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { small, text } from "../caps.ts";
import { SshNodePoolConfig, SshNodePoolStatus } from "../records/ssh-node-pools.ts";
import { body, Nothing, optional, path } from "./fields.ts";

const pool = path({ pool_name: text });
const all = body("SSHUpBody", {
  infra: optional(text).describe("One pool; null is all."),
  cleanup: z.boolean().default(false).describe("Clean up instead of deploying."),
  force: z
    .boolean()
    .default(false)
    .describe("Where it cleans up: forget hosts that left their pool and cannot be cleaned."),
});
const Done = z.object({ status: z.literal("success") });

/** Pools of machines that control reaches over SSH. */
export const sshNodePoolOperations = operationsOf("ssh_node_pools.", {
  list: {
    route: "GET /ssh_node_pools",
    summary: "Every pool's configuration.",
    access: "viewer",
    output: z.record(z.string(), SshNodePoolConfig).describe("By name."),
  },
  update: {
    route: "POST /ssh_node_pools",
    summary: "Replace the pools that the body names; others stay.",
    access: "admin",
    input: { body: small(z.object({}).catchall(z.unknown())).describe("Pools by name.") },
    output: Done,
    errors: ["ValueError"],
  },
  delete: {
    route: "DELETE /ssh_node_pools/{pool_name}",
    summary: "Delete a pool; nothing is torn down.",
    access: "admin",
    input: pool,
    output: Done,
    errors: ["NotFoundError"],
  },
  listKeys: {
    route: "GET /ssh_node_pools/keys",
    summary: "Names of the private keys that were uploaded.",
    access: "admin",
    output: z.array(z.string()),
  },
  uploadKey: {
    route: "POST /ssh_node_pools/keys",
    summary: "Upload a private key: a form with key_name and key_file.",
    access: "admin",
    input: { rawBody: "multipart/form-data" },
    output: Done.extend({ key_path: z.string().describe("Path on control.") }),
    errors: ["ValueError"],
  },
  deploy: {
    requestName: "ssh_node_pools.up",
    route: "POST /ssh_node_pools/{pool_name}/deploy",
    mode: "receipt",
    queue: "long",
    summary: "Deploy one pool.",
    access: "admin",
    input: pool,
    output: Nothing,
    errors: ["NotFoundError"],
  },
  deployAll: {
    requestName: "ssh_node_pools.up",
    route: "POST /ssh_node_pools/deploy",
    mode: "receipt",
    queue: "long",
    summary: "Deploy all pools.",
    access: "admin",
    input: all,
    output: Nothing,
    errors: ["NotFoundError"],
  },
  down: {
    route: "POST /ssh_node_pools/{pool_name}/down",
    mode: "receipt",
    queue: "long",
    summary: "Clean up one pool.",
    access: "admin",
    input: pool,
    output: Nothing,
    errors: ["NotFoundError"],
  },
  downAll: {
    requestName: "ssh_node_pools.down",
    route: "POST /ssh_node_pools/down",
    mode: "receipt",
    queue: "long",
    summary: "Clean up all pools.",
    access: "admin",
    input: all,
    output: Nothing,
    errors: ["NotFoundError"],
  },
  status: {
    route: "GET /ssh_node_pools/{pool_name}/status",
    summary: "Whether a pool can be used.",
    access: "viewer",
    input: pool,
    output: SshNodePoolStatus,
  },
});
