import * as z from "zod";
import { requestsOf } from "../../common/operation.ts";
import { integer, text } from "../caps.ts";
import { body, Nothing, optional } from "./fields.ts";

const name = optional(text).describe("Null is the usual name.");

/** A Kubernetes cluster on the machine of control. */
export const localOperations = requestsOf("local_", {
  up: {
    route: "POST /local_up",
    queue: "long",
    summary: "Start a local Kubernetes cluster next to control.",
    access: "admin",
    input: body("LocalUpBody", {
      gpus: z.boolean().default(true).describe("Use GPUs where the machine has them."),
      name,
      num_nodes: integer.default(1).describe("Number of nodes."),
      port_start: optional(integer).describe("First of 100 ports."),
    }),
    output: Nothing,
    errors: ["RuntimeError"],
  },
  down: {
    route: "POST /local_down",
    queue: "long",
    summary: "Remove that cluster.",
    access: "admin",
    input: body("LocalDownBody", { name }),
    output: Nothing,
    errors: ["RuntimeError"],
  },
});
