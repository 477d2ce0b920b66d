import fc from "fast-check";
import { goodKey } from "./bed.ts";

/** A value that is mostly one of the first, and now and then one of the hostile ones. */
const mostly = <T>(good: readonly T[], hostile: readonly T[], weight = 50): fc.Arbitrary<T> =>
  fc.oneof(
    { arbitrary: fc.constantFrom(...good), weight },
    { arbitrary: fc.constantFrom(...hostile), weight: 1 },
  );

const lineEnd = mostly(["\r\n"], ["\n", "\r", "\r\r\n", "", "\r\n "], 150);

const method = mostly(
  ["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH"],
  ["", " GET", "GE\0T", "POST\t", "CONNECT", "G(T"],
);

const target = mostly(
  ["/", "/a//b?c", "/a/../b", "/%2e%00", "http://other/a", "HTTPS://other:1/?"],
  ["", "*", "a", "/a b", "/a\tb", "/a#b", "//\x7f", "http://", "http:/a", "http://u@a/"],
);

const version = mostly(
  ["HTTP/1.1"],
  ["HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "http/1.1", "", "HTTP/1.1 "],
);

/** Headers that a request's way depends on, and values that are nearly right. */
const fields: Readonly<
  Record<string, readonly [good: readonly string[], hostile: readonly string[]]>
> = {
  "Content-Length": [
    ["0", "3", "5"],
    ["", "+3", "03", "3,3", "3 3", "0x3", "-1", "9".repeat(16), "3\v"],
  ],
  "Transfer-Encoding": [
    ["chunked", "Chunked"],
    ["gzip, chunked", "chunked, chunked", "", "xchunked", "\vchunked"],
  ],
  Connection: [
    ["close", "keep-alive", "x-a", "te, X-B"],
    ["host", "content-length", "a b", ",,", "upgrade"],
  ],
  "X-A": [
    ["", "b", "b\tc", "\xe4"],
    ["a\0b", "a\x01", "a\x7f", "a\rb", "a\nX-B: c"],
  ],
  "x-B": [["1", "a: b"], ["a\r\n b"]],
  TE: [["trailers"], ["chunked"]],
  Upgrade: [["h2c", "websocket"], [""]],
  Host: [["b"], ["", "a b", "a/b", "a@b"]],
  Authorization: [[`Bearer ${goodKey}`], ["", "Bearer x", `Basic ${goodKey}`]],
};

const field = fc
  .constantFrom(...Object.keys(fields))
  .chain((name) =>
    fc
      .tuple(
        mostly(
          [name, name.toLowerCase(), name.toUpperCase()],
          [` ${name}`, `${name} `, `${name}\0`, ""],
          60,
        ),
        mostly([": ", ":", ":\t "], [" :", "\t:", "", ";"], 60),
        mostly(fields[name]?.[0] ?? [], fields[name]?.[1] ?? [], 12),
        mostly(["", " ", "\t"], ["\v", "\0"], 60),
      )
      .map((parts) => parts.join("")),
  );

const body = mostly(
  [
    "",
    "abc",
    "abcde",
    "3\r\nabc\r\n0\r\n\r\n",
    '5;x=y;z;u="v w"\r\nabcde\r\n0\r\nX-T: 1\r\n\r\n',
    "0\r\n\r\n",
  ],
  [
    "3\nabc\r\n0\r\n\r\n",
    "3\r\nabcd\r\n0\r\n\r\n",
    " 3\r\nabc\r\n0\r\n\r\n",
    "0x3\r\nabc\r\n0\r\n\r\n",
    "3;\nabc\r\n0\r\n\r\n",
    "3;=\r\nabc\r\n0\r\n\r\n",
    '3;a="\\""\r\nabc\r\n0\r\n\r\n',
    "0\r\nX : 1\r\n\r\n",
    "ffffffffffffffff\r\nabc",
    "0\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n",
  ],
  10,
);

const head = fc
  .tuple(
    fc.tuple(method, target, version).map((words) => words.join(" ")),
    mostly(["Host: a"], ["X-A: b", "Host : a", " Host: a"]),
    mostly([`Authorization: Bearer ${goodKey}`], ["Authorization: Bearer x", "X-A: b"], 12),
    fc.array(field, { maxLength: 3 }),
    fc.array(lineEnd, { minLength: 8, maxLength: 8 }),
  )
  .map(([first, host, key, more, ends]) => {
    const lines = [first, host, key, ...more, ""];
    return lines.map((line, index) => line + ends[index]).join("");
  });

const request = fc.tuple(head, body).map((parts) => parts.join(""));

/** One byte of a text changed, left out, or put in. */
const mutation = fc.tuple(
  fc.nat(),
  fc.constantFrom(0, 1),
  fc.constantFrom("", "\0", "\n", "\r", " ", "\t", ":", "0", "9", "\x80", "\r\n", ","),
);

/** What a client might send: one or two requests, valid, almost valid, or hostile. */
export const streams: fc.Arbitrary<string> = fc
  .tuple(fc.array(request, { minLength: 1, maxLength: 2 }), fc.option(mutation, { freq: 1 }))
  .map(([requests, change]) => {
    const text = requests.join("");
    if (change === null) return text;
    const [place, left, put] = change;
    const at = place % text.length;
    return text.slice(0, at) + put + text.slice(at + left);
  });
