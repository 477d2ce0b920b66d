import * as z from "zod";
import { type Operation, operation } from "../../common/operation.ts";
import { text } from "../caps.ts";
import { Bytes, optional, query, queryInteger } from "./fields.ts";

/** Log-in of a client through the browser: it makes a verifier, the user approves its challenge. */
export const authOperations = {
  tokenPage: operation({
    name: "auth.token_page",
    route: "GET /token",
    mode: "page",
    summary: "Page that shows a log-in token, or hands it to a waiting client.",
    access: "any",
    input: query({
      local_port: optional(queryInteger()).describe("Loopback port at which a client waits."),
    }),
    output: Bytes,
  }),
  authorizePage: operation({
    name: "auth.authorize_page",
    route: "GET /auth/authorize",
    mode: "page",
    summary: "Page with the button that approves a log-in.",
    access: "any",
    input: {},
    output: Bytes,
  }),
  authorize: operation({
    name: "auth.authorize",
    route: "POST /api/v1/auth/authorize",
    mode: "sync",
    summary: "Approve a log-in; approving again makes a new token.",
    access: "any",
    input: {
      body: z.object({
        code_challenge: text
          .regex(/^[A-Za-z0-9_-]{43}$/)
          .describe("base64url, unpadded, of the verifier's SHA-256."),
      }),
    },
    output: z.object({ status: z.literal("authorized") }),
    errors: ["ValueError", "AuthenticationError"],
  }),
  token: operation({
    name: "auth.token",
    route: "GET /api/v1/auth/token",
    mode: "sync",
    summary: "Fetch the token of an approved log-in, once; not found until then.",
    access: "open",
    input: query({
      code_verifier: optional(text).describe("What the client made; refused without it."),
    }),
    output: z.object({ token: z.string() }),
    errors: ["ValueError", "NotFoundError"],
  }),
} satisfies Record<string, Operation>;
