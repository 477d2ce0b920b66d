import { operationsOf } from "../../common/operation.ts";
import { text } from "../caps.ts";
import { Explanation } from "../records/explanation.ts";
import { query } from "./fields.ts";

/** Why things are as they are. */
export const explainOperations = operationsOf("", {
  explain: {
    route: "GET /explain",
    summary: "Explain what a cluster, a service, a managed job or a request is waiting for.",
    access: "viewer",
    input: query({
      name: text.describe(
        "Name of a live cluster or service, name or number of a managed job, or the beginning of a request id.",
      ),
    }),
    output: Explanation,
    errors: ["NotFoundError", "ValueError"],
  },
});
