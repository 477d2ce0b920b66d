import { operationsOf } from "../../common/operation.ts";
import { text } from "../caps.ts";
import { Bytes, path } from "./fields.ts";

/** The web interface. */
export const pageOperations = operationsOf("dashboard.", {
  home: {
    route: "GET /",
    mode: "page",
    summary: "Go to the web interface.",
    access: "viewer",
    output: Bytes,
    otherAnswers: { 307: "The page is at /dashboard/." },
  },
  file: {
    route: "GET /dashboard/{full_path}",
    mode: "page",
    summary: "The page shown in place of a web interface, for every path.",
    access: "viewer",
    input: path({ full_path: text.describe("May have slashes.") }),
    output: Bytes,
    errors: ["ValueError", "PermissionDeniedError"],
  },
});
