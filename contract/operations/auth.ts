import * as z from "zod";
import { operationsOf } from "../../common/operation.ts";
import { longText, text } from "../caps.ts";
import { Bytes, optional, query, queryInteger } from "./fields.ts";

const next = optional(text).describe("Path to go to after the login; `/` by default.");
const redirects = { 302: "Go on to another page." } as const;

/**
 * Logins of browsers, which get a session cookie, and of clients through a browser: the client makes a
 * verifier, the user approves its challenge, the client fetches a session of its own.
 */
export const authOperations = operationsOf("auth.", {
  loginPage: {
    route: "GET /login",
    mode: "page",
    summary: "Page to log in with a password, or at the identity provider.",
    access: "open",
    input: query({ next }),
    output: Bytes,
    otherAnswers: redirects,
  },
  login: {
    route: "POST /login",
    mode: "page",
    summary: "Log in with a name and a password; the answer sets a session cookie.",
    access: "open",
    input: { rawBody: "application/x-www-form-urlencoded" },
    output: Bytes,
    otherAnswers: redirects,
    errors: ["AuthenticationError", "PermissionDeniedError", "RateLimitError", "ValueError"],
  },
  logout: {
    route: "POST /logout",
    mode: "page",
    summary: "End the session of the caller.",
    access: "open",
    output: Bytes,
    otherAnswers: redirects,
  },
  oidcStart: {
    route: "GET /auth/oidc",
    mode: "page",
    summary: "Go to the identity provider to log in.",
    access: "open",
    input: query({ next }),
    output: Bytes,
    otherAnswers: redirects,
    errors: ["NotFoundError", "UnreachableError"],
  },
  oidcCallback: {
    route: "GET /auth/callback",
    mode: "page",
    summary: "Where the identity provider sends the browser back to.",
    access: "open",
    input: query({
      code: optional(longText),
      state: optional(longText),
      iss: optional(text),
      error: optional(text),
      error_description: optional(longText),
    }),
    output: Bytes,
    otherAnswers: redirects,
    errors: ["AuthenticationError", "NotFoundError", "PermissionDeniedError", "UnreachableError"],
  },
  tokenPage: {
    route: "GET /token",
    mode: "page",
    summary: "Page that shows a login token, or hands it to a waiting client.",
    access: "viewer",
    input: query({
      local_port: optional(queryInteger(1, 65_535)).describe(
        "Loopback port at which a client waits.",
      ),
    }),
    output: Bytes,
  },
  authorizePage: {
    route: "GET /auth/authorize",
    mode: "page",
    summary: "Page with the button that approves a login.",
    access: "viewer",
    output: Bytes,
  },
  authorize: {
    route: "POST /api/v1/auth/authorize",
    summary: "Approve the login of a client; approving again makes a new token.",
    access: "viewer",
    input: {
      body: z.object({
        code_challenge: text.describe(
          "base64url, unpadded, of the verifier's SHA-256: 43 characters.",
        ),
      }),
    },
    output: z.object({ status: z.literal("authorized") }),
    errors: ["ValueError", "AuthenticationError", "PermissionDeniedError"],
  },
  token: {
    route: "GET /api/v1/auth/token",
    summary: "Fetch the token of an approved login, once; not found until then.",
    access: "open",
    input: query({
      code_verifier: optional(text).describe("What the client made; refused without it."),
    }),
    output: z.object({ token: z.string() }),
    errors: ["ValueError", "NotFoundError"],
  },
});
