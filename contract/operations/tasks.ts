import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { integer, taskText, text } from "../caps.ts";
import { record } from "../records/record.ts";
import { body, Nothing, nullable } from "./fields.ts";

const RequestOptions = record("RequestOptions", {
  cluster_name: nullable(text),
  idle_minutes_to_autostop: nullable(integer),
  down: z.boolean(),
  dryrun: z.boolean(),
});

const dag = {
  dag: taskText.describe("Tasks as YAML text of several documents."),
  request_options: nullable(RequestOptions).describe("The launch that is meant."),
};

/** Tasks before they are launched. */
export const taskOperations = operationsOf("", {
  validate: {
    route: "POST /validate",
    summary: "Check tasks; the files that they mount are not checked.",
    access: "viewer",
    input: body("ValidateBody", dag),
    output: Nothing,
    errors: [
      "ValueError",
      "InvalidTaskError",
      "InvalidClusterNameError",
      "NotSupportedError",
      "UserRequestRejectedByPolicy",
    ],
    encodesErrors: true,
  },
  optimize: {
    route: "POST /optimize",
    mode: "async",
    summary: "Pick machines for tasks; the plan is in the request's log.",
    access: "viewer",
    input: body("OptimizeBody", {
      ...dag,
      minimize: z.literal([0, 1]).default(0).describe("0 cost, 1 time."),
    }),
    output: Nothing,
    errors: [
      "ValueError",
      "InvalidTaskError",
      "ResourcesUnavailableError",
      "NoCloudAccessError",
      "UserRequestRejectedByPolicy",
    ],
  },
});
