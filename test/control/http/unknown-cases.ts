import type { RefusedCase } from "./refused-cases.ts";

const text = { "content-type": "text/plain" };

/** Requests that no row fits, whatever their body. */
export const unknownCases: Record<string, RefusedCase> = {
  "a path that is not there": {
    send: ["GET", "/nowhere?a=b"],
    status: 404,
    says: /there is no GET \/nowhere; \/docs lists what there is/,
  },
  "a path that cannot be read": { send: ["GET", "/%zz"], status: 400, says: /is not a valid url/ },
  "the wrong method": {
    send: ["GET", "/launch"],
    status: 405,
    says: /\/launch takes POST, not GET/,
  },
  "the wrong method on a path with a parameter": {
    send: ["DELETE", "/ssh_node_pools/p1/status"],
    status: 405,
    says: /takes GET, not DELETE/,
  },
  "a text to a path that is not there": {
    send: ["POST", "/nowhere", "a text", text],
    status: 404,
    says: /there is no POST \/nowhere/,
  },
  "JSON that is cut off to a path that is not there": {
    send: ["PUT", "/nowhere", "{"],
    status: 404,
    says: /there is no PUT \/nowhere/,
  },
  "a text by the wrong method": {
    send: ["PUT", "/launch", "a text", text],
    status: 405,
    says: /takes POST, not PUT/,
  },
  "a method of other servers": {
    send: ["PROPFIND", "/launch"],
    status: 405,
    says: /takes POST, not PROPFIND/,
  },
  "a QUERY without a body": {
    send: ["QUERY", "/launch"],
    status: 405,
    says: /takes POST, not QUERY/,
  },
  "a QUERY of a path that is not there": {
    send: ["QUERY", "/nowhere"],
    status: 404,
    says: /there is no QUERY \/nowhere/,
  },
  "the wrong method on a page": {
    send: ["POST", "/docs", "a text", text],
    status: 405,
    says: /\/docs takes GET, not POST/,
  },
  "the wrong method below a page": {
    send: ["POST", "/dashboard/clusters/a", {}],
    status: 405,
    says: /takes GET, not POST/,
  },
  "a content type that is none": {
    send: ["POST", "/status", "{}", { "content-type": "foo" }],
    status: 422,
    loc: ["body"],
    says: /send JSON with content-type: application\/json, not foo/,
  },
};
