import assert from "node:assert/strict";
import { test } from "node:test";
import { cutVersion, notesOf } from "../../bin/release/changelog.ts";

const changelog = `# Changelog

## Pending

### Jobs
- New.

## 0.1.0 - 2026-01-02

- Old.
`;

test("notes are a version's section, or the pending one until the version has its own", () => {
  assert.equal(notesOf(changelog, "0.2.0"), "# Outrigger 0.2.0\n\n### Jobs\n- New.\n");
  assert.equal(notesOf(changelog, "0.1.0"), "# Outrigger 0.1.0\n\n- Old.\n");
});

test("a version takes over what is pending, once", () => {
  const cut = cutVersion(changelog, "0.2.0", "2026-03-04");

  assert.match(cut, /^## Pending\n\n## 0\.2\.0 - 2026-03-04\n\n### Jobs\n- New\.$/m);
  assert.equal(notesOf(cut, "0.2.0"), notesOf(changelog, "0.2.0"));
  assert.equal(cutVersion(cut, "0.2.0", "2026-05-06"), cut);
  assert.throws(() => notesOf(cut, "0.3.0"), /CHANGELOG\.md has nothing about 0\.3\.0/);
});
