import type { FastifyInstance } from "fastify";
import type { Operation } from "../../common/operation.ts";
import { type OpenApiDocument, openApiDocument } from "./openapi.ts";
import { docsPage } from "./pages.ts";

/** What the API says of itself: `/openapi.json` for programs, `/docs` for people. */
const pages = {
  "/openapi.json": { type: "application/json; charset=utf-8", of: JSON.stringify },
  "/docs": { type: "text/html; charset=utf-8", of: docsPage },
} as const;

/** Whether a path is that of a page, which is no row; a slash at its end changes nothing. */
export const isPage = (path: string): boolean => Object.hasOwn(pages, path.replace(/\/$/, ""));

/** Serves the pages; each is made when it is first asked for. */
export function addPages(
  app: FastifyInstance,
  rows: readonly Operation[],
  isBuilt: (row: Operation) => boolean,
): void {
  let document: OpenApiDocument | undefined;
  for (const [path, { type, of }] of Object.entries(pages)) {
    let text: string | undefined;
    app.get(path, async (_req, reply) => {
      document ??= openApiDocument(rows, isBuilt);
      text ??= of(document);
      return reply.type(type).send(text);
    });
  }
}
