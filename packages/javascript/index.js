// Tests an implementation of RocketMQ's index files with what the real RocketMQ 4.9.3 answered and wrote.
// Each case is a test of node:test; a failure names the clause and the first byte that differs.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { isDeepStrictEqual } from "node:util";

const { clauses, cases, releases } = JSON.parse(fs.readFileSync(new URL("./cases.json", import.meta.url), "utf8"));
const release = process.env.ROCKETMQ_RELEASE || "4.9.3";

/** There is no such operation, or not with this geometry: the case is skipped. */
export class NotOffered extends Error {}

/**
 * Registers a test for each case; cases of operations that are not offered are skipped. Expected is what 4.9.3 does, or the
 * release in the environment variable ROCKETMQ_RELEASE.
 *
 * `create` returns a new implementation, with the methods that it has. 64-bit integers are BigInt. Any other error means
 * that the operation ends in an error that is reported; some cases expect that.
 *
 *   keyHash(key)                                   the key hash (IDX-HASH-1)
 *   open(path, { hashSlotNum, indexNum, endPhyOffset, endTimestamp, load })
 *                                                  makes or opens a file; a seed (endPhyOffset, endTimestamp) counts only
 *                                                  if it is above 0; reads the header if load is true
 *   put(key, phyOffset, storeTimestamp)            adds an entry; false if it is refused
 *   select(offsets, key, maxNum, begin, end)       offsets, then those found in order, until there are maxNum
 *   timeMatched(begin, end)                        whether the window, in ms, matches the file
 *   header()                                       { beginTimestamp, endTimestamp, beginPhyOffset, endPhyOffset,
 *                                                  hashSlotCount, indexCount }: the header in memory
 *   full()                                         whether the file is full
 *   flush()                                        writes the header in memory to the file
 *   close()                                        releases all files without a flush; also called after each case
 *   other(directory, operation)                    any other operation, such as queue.put; README.md lists them
 */
export function checkIndexFile(create) {
  assert.ok(releases.includes(release), `ROCKETMQ_RELEASE ${release}: expected one of ${releases.join(", ")}`);
  let ran = 0;
  for (const recorded of cases) {
    const one = { ...recorded, ...recorded.releases?.[release] };
    test(one.id, (context) => {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), "rocketmq-vector-"));
      try {
        const differences = check(one, create(), directory);
        ran++;
        if (differences.length > 0) assert.fail(message(one, differences));
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        if (!(error instanceof NotOffered)) assert.fail(message(one, [String(error)]));
        context.skip(error.message);
      } finally {
        fs.rmSync(directory, { recursive: true });
      }
    });
  }
  after(() => assert.ok(ran > 0, "no case ran: the implementation offers no operation"));
}

/** A name in a case that somebody else wrote must not lead out of the case's directory. */
function checkNames(one) {
  const opened = one.ops.filter((op) => "file" in op).map((op) => op.file);
  for (const name of [...Object.keys(one.files), ...opened]) {
    if (!/^[^/\\:]+(\/[^/\\:]+)*$/.test(name) || name.split("/").includes("..")) {
      throw new Error(`file ${name} is not a relative path without ..`);
    }
  }
}

function check(one, implementation, directory) {
  checkNames(one);
  for (const [name, file] of Object.entries(one.files)) {
    const target = path.join(directory, name);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.writeFileSync(target, content(file));
  }
  const differences = [];
  try {
    const state = { implementation, directory, open: false };
    one.ops.forEach((op, i) => differences.push(...compareAnswer(`operation ${i}, ${op.op}`, one.results[i], answer(state, op))));
  } finally {
    implementation.close?.();
  }
  return [...differences, ...compareFiles(one, directory)];
}

function compareAnswer(place, expected, actual) {
  if ("rejected" in expected || "rejected" in actual) {
    if ("rejected" in expected && "rejected" in actual) return [];
    return [`${place}: expected ${JSON.stringify(expected)}, actual ${JSON.stringify(actual)}`];
  }
  return Object.keys(expected)
    .filter((field) => !isDeepStrictEqual(expected[field], actual[field]))
    .map((field) => `${place}: ${field}: expected ${JSON.stringify(expected[field])}, actual ${JSON.stringify(actual[field])}`);
}

function answer(state, op) {
  try {
    return run(state, op);
  } catch (error) {
    if (error instanceof NotOffered) throw error;
    return { rejected: String(error) };
  }
}

function run(state, op) {
  const name = { "key.hash": "keyHash", "index.time_matched": "timeMatched" }[op.op] ?? op.op.replace(/^index\./, "");
  const call = (...values) => {
    const found = name.includes(".") ? "other" : name;
    if (found !== "close" && state.implementation[found] === undefined) throw new NotOffered(`not offered: ${op.op}`);
    return state.implementation[found]?.(...values);
  };
  if (name.includes(".")) return call(state.directory, op);
  if (name === "keyHash") return { hash: call(keyOf(op)) };
  if (name === "open") return openFile(state, op, call);
  if (!state.open) throw new Error("no index file is open");
  switch (name) {
    case "put":
      return { put: call(keyOf(op), BigInt(op.phy_offset), BigInt(op.store_timestamp)) };
    case "select": {
      const initial = (op.initial ?? []).map(BigInt);
      return { offsets: call(initial, keyOf(op), op.max_num, BigInt(op.begin), BigInt(op.end)).map(String) };
    }
    case "timeMatched":
      return { matched: call(BigInt(op.begin), BigInt(op.end)) };
    case "header":
      return headerFields(call());
    case "full":
      return { full: call() };
    case "close":
      state.open = false;
  }
  call(); // flush or close
  return {};
}

function openFile(state, op, call) {
  if (state.open) state.implementation.close?.();
  state.open = false;
  call(path.join(state.directory, op.file), {
    hashSlotNum: op.hash_slot_num,
    indexNum: op.index_num,
    endPhyOffset: BigInt(op.end_phy_offset),
    endTimestamp: BigInt(op.end_timestamp),
    load: op.load,
  });
  state.open = true;
  return {};
}

function headerFields(header) {
  return {
    begin_timestamp: String(header.beginTimestamp),
    end_timestamp: String(header.endTimestamp),
    begin_phy_offset: String(header.beginPhyOffset),
    end_phy_offset: String(header.endPhyOffset),
    hash_slot_count: header.hashSlotCount,
    index_count: header.indexCount,
  };
}

/** A key: text, or the hexadecimal of its UTF-16 units if it holds a lone surrogate. */
function keyOf(op) {
  return op.key ?? String.fromCharCode(...op.key_utf16.match(/.{4}/g).map((unit) => parseInt(unit, 16)));
}

/** Compares every file that is left; those that the clock has named are index/new-1 and so on. */
function compareFiles(one, directory) {
  const builds = one.ops.some((op) => op.op === "service.build");
  const expected = new Map(Object.entries(one.left));
  const differences = [];
  let made = 0;
  for (const entry of listFiles(directory, "")) {
    const clock = builds && /^index\/[0-9]{17}$/.test(entry) && !(entry in one.files);
    const name = clock ? `index/new-${++made}` : entry;
    if (!expected.has(name)) differences.push(`file ${name}: expected none`);
    else differences.push(...compareBytes(name, content(expected.get(name)), fs.readFileSync(path.join(directory, entry))));
    expected.delete(name);
  }
  return [...differences, ...[...expected.keys()].map((name) => `file ${name}: missing`)];
}

function listFiles(directory, prefix) {
  const entries = fs.readdirSync(path.join(directory, prefix), { withFileTypes: true });
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  return entries.flatMap((entry) => (entry.isDirectory() ? listFiles(directory, `${prefix}${entry.name}/`) : [prefix + entry.name]));
}

function compareBytes(name, expected, actual) {
  for (let at = 0; at < Math.min(expected.length, actual.length); at++) {
    if (expected[at] !== actual[at]) return [`file ${name}, byte ${at}: expected ${hex(expected[at])}, actual ${hex(actual[at])}`];
  }
  return expected.length === actual.length ? [] : [`file ${name}: expected ${expected.length} bytes, actual ${actual.length}`];
}

function hex(byte) {
  return byte.toString(16).padStart(2, "0");
}

/** The bytes of a file: runs in hexadecimal, everything else 0. */
function content(file) {
  const data = Buffer.alloc(file.length);
  for (const [start, digits] of file.runs) data.write(digits, start, "hex");
  return data;
}

function message(one, differences) {
  const [clause] = one.id.split("/");
  const { level, text } = clauses[clause];
  return `${one.id} breaks ${clause} (${level}): ${text}\n  ${differences.slice(0, 5).join("\n  ")}\n  ${one.description}`;
}
