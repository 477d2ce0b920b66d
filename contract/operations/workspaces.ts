import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { settings, text } from "../caps.ts";
import { ConfigurationVersion, WorkspaceConfig, WorkspaceUse } from "../records/workspaces.ts";
import { body } from "./fields.ts";

const document = z
  .record(z.string(), z.unknown())
  .describe("Includes `version`; the values of secrets are `[secret]`.");
const workspaces = z.record(z.string(), WorkspaceConfig).describe("Every workspace, by name.");

/** Workspaces, and the configuration of control that they are a part of. */
export const workspaceOperations = operationsOf("workspaces.", {
  get: {
    route: "GET /workspaces",
    mode: "async",
    summary: "Workspaces that the caller may use.",
    access: "viewer",
    output: workspaces,
  },
  update: {
    route: "POST /workspaces/update",
    mode: "async",
    summary: "Replace the configuration of one workspace.",
    access: "admin",
    input: body("UpdateWorkspaceBody", {
      workspace_name: text.default(""),
      config: settings.describe("The whole workspace."),
    }),
    output: workspaces,
    errors: ["ValueError", "ConflictError"],
  },
  create: {
    route: "POST /workspaces/create",
    mode: "async",
    summary: "Create a workspace.",
    access: "admin",
    input: body("CreateWorkspaceBody", {
      workspace_name: text.default(""),
      config: settings.describe("The whole workspace."),
    }),
    output: workspaces,
    errors: ["ValueError", "InvalidWorkspaceNameError"],
  },
  delete: {
    route: "POST /workspaces/delete",
    mode: "async",
    summary: "Delete a workspace in which nothing is left.",
    access: "admin",
    input: body("DeleteWorkspaceBody", { workspace_name: text }),
    output: workspaces,
    errors: ["ValueError", "ConflictError"],
  },
  getConfig: {
    route: "GET /workspaces/config",
    mode: "async",
    summary: "The whole configuration of control.",
    access: "viewer",
    output: document,
  },
  configHistory: {
    route: "GET /workspaces/config/history",
    summary: "Versions of the configuration of control, the newest first.",
    access: "admin",
    audited: false,
    output: z.array(ConfigurationVersion),
  },
  use: {
    route: "GET /workspaces/use",
    summary: "What the workspaces of the caller use, and their limits.",
    access: "viewer",
    output: z.array(WorkspaceUse),
  },
  updateConfig: {
    route: "POST /workspaces/config",
    mode: "async",
    summary: "Replace the whole configuration of control.",
    access: "admin",
    input: body("UpdateConfigBody", {
      config: settings.describe(
        "Refused if its `version` is not the newest one; without one it replaces any. `[secret]` keeps a secret.",
      ),
    }),
    output: document,
    errors: ["ValueError", "InvalidWorkspaceNameError", "ConflictError"],
  },
});
