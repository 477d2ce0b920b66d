import * as z from "zod";
import { requestsOf } from "../../common/operation.ts";
import { text } from "../caps.ts";
import { StorageRecord } from "../records/volumes.ts";
import { body, Nothing } from "./fields.ts";

/** Storages: buckets that tasks mount. */
export const storageOperations = requestsOf("storage_", {
  list: {
    name: "storage_ls",
    route: "GET /storage/ls",
    summary: "List storages.",
    access: "viewer",
    output: z.array(StorageRecord),
  },
  delete: {
    route: "POST /storage/delete",
    queue: "long",
    summary: "Delete a storage and what is in it.",
    access: "user",
    about: { storage: "name" },
    input: body("StorageBody", { name: text }),
    output: Nothing,
    errors: ["NotFoundError"],
  },
});
