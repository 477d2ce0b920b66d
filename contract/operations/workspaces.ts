import * as z from "zod";
import { type Operation, operation } from "../../common/operation.ts";
import { settings, text } from "../caps.ts";
import { WorkspaceConfig } from "../records/workspaces.ts";
import { body } from "./fields.ts";

const tag = "workspaces";
const workspaces = z.record(z.string(), WorkspaceConfig).describe("Every workspace, by name.");

/** Workspaces, and the configuration of control that they are a part of. */
export const workspaceOperations = {
  get: operation({
    name: "workspaces.get",
    route: "GET /workspaces",
    tag,
    mode: "async",
    queue: "short",
    summary: "Workspaces that the caller may use.",
    access: "viewer",
    input: {},
    output: workspaces,
  }),
  update: operation({
    name: "workspaces.update",
    route: "POST /workspaces/update",
    tag,
    mode: "async",
    queue: "short",
    summary: "Replace the configuration of one workspace.",
    access: "admin",
    input: body("UpdateWorkspaceBody", {
      workspace_name: text.default(""),
      config: settings.describe("The whole workspace."),
    }),
    output: workspaces,
    errors: ["ValueError", "ConflictError"],
  }),
  create: operation({
    name: "workspaces.create",
    route: "POST /workspaces/create",
    tag,
    mode: "async",
    queue: "short",
    summary: "Create a workspace.",
    access: "admin",
    input: body("CreateWorkspaceBody", {
      workspace_name: text.default(""),
      config: settings.describe("The whole workspace."),
    }),
    output: workspaces,
    errors: ["ValueError", "InvalidWorkspaceNameError"],
  }),
  delete: operation({
    name: "workspaces.delete",
    route: "POST /workspaces/delete",
    tag,
    mode: "async",
    queue: "short",
    summary: "Delete a workspace in which nothing is left.",
    access: "admin",
    input: body("DeleteWorkspaceBody", { workspace_name: text }),
    output: workspaces,
    errors: ["ValueError", "ConflictError"],
  }),
  getConfig: operation({
    name: "workspaces.get_config",
    route: "GET /workspaces/config",
    tag,
    mode: "async",
    queue: "short",
    summary: "The whole configuration of control.",
    access: "viewer",
    input: {},
    output: z.record(z.string(), z.unknown()),
  }),
  updateConfig: operation({
    name: "workspaces.update_config",
    route: "POST /workspaces/config",
    tag,
    mode: "async",
    queue: "short",
    summary: "Replace the whole configuration of control.",
    access: "admin",
    input: body("UpdateConfigBody", { config: settings }),
    output: z.record(z.string(), z.unknown()),
    errors: ["ValueError", "InvalidWorkspaceNameError", "ConflictError"],
  }),
} satisfies Record<string, Operation>;
