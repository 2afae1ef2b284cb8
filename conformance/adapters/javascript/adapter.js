// A starter adapter for adapter protocol 1: no dependencies, one JSON object a line on stdin and stdout.
//
// Copy the folder, and call your own code where this file calls index-file.js, the example. Everything marked YOURS is
// what you change; the rest is the protocol. 64-bit integers travel as decimal strings and are BigInt here, 32-bit ones are
// numbers. Stdout belongs to the protocol: write your log to stderr.

import { join } from "node:path";
import { createInterface } from "node:readline";
import { IndexFile, Rejected, keyHash, stringHash } from "./index-file.js"; // YOURS

const NAME = "my-index"; // YOURS
const VERSION = "0.1.0"; // YOURS

/** An error in what the suite sent, or in the adapter: never a verdict. */
class Malformed extends Error {}

/** A case: its directory, and the index file that is open in it. */
class Case {
  constructor(directory) {
    this.directory = directory;
    this.index = null; // YOURS
    this.files = [];
  }

  /** Closes the file without a flush: the suite reads it, and removes it. */
  release() {
    this.index?.close(); // YOURS
    this.index = null;
  }

  opened() {
    if (this.index === null) throw new Rejected("no index file is open");
    return this.index;
  }
}

// Every operation of the protocol. Those with a function are declared; the others, with their fields and results, wait for yours.
const OPERATIONS = {
  "key.hash": (_, op) => ({ hash: keyHash(textOf(op, "key")) }), // YOURS

  "tags.code": (_, op) => ({ tags_code: String(stringHash(textOf(op, "tags"))) }), // YOURS

  "index.open": (one, op) => {
    one.release();
    one.files.push({ role: "index", path: op.file });
    one.index = IndexFile.open(join(one.directory, op.file), op.hash_slot_num, op.index_num, {
      endPhyOffset: long(op.end_phy_offset),
      endTimestamp: long(op.end_timestamp),
      load: op.load,
    }); // YOURS
    return {};
  },

  "index.put": (one, op) => ({
    put: one.opened().put(textOf(op, "key"), long(op.phy_offset), long(op.store_timestamp)), // YOURS
  }),

  "index.select": (one, op) => {
    const initial = (op.initial ?? []).map(long);
    const window = [long(op.begin), long(op.end)];
    const offsets = one.opened().select(initial, textOf(op, "key"), op.max_num, ...window); // YOURS
    return { offsets: offsets.map(String) };
  },

  "index.time_matched": (one, op) => ({
    matched: one.opened().timeMatched(long(op.begin), long(op.end)), // YOURS
  }),

  "index.header": (one) => {
    const header = one.opened().header; // YOURS: the header in memory
    return {
      begin_timestamp: String(header.beginTimestamp),
      end_timestamp: String(header.endTimestamp),
      begin_phy_offset: String(header.beginPhyOffset),
      end_phy_offset: String(header.endPhyOffset),
      hash_slot_count: header.hashSlotCount,
      index_count: header.indexCount,
    };
  },

  "index.full": (one) => ({ full: one.opened().full }), // YOURS

  "index.flush": (one) => {
    one.opened().flush(); // YOURS
    return {};
  },

  "index.close": (one) => {
    one.opened();
    one.release();
    return {};
  },

  "service.open": null, // hash_slot_num, index_num, last_exit_ok, index_msg_timestamp: files
  "service.build": null, // topic, uniq_key, keys, commit_log_offset, store_timestamp, sys_flag: {}
  "service.query": null, // topic, key, max_num, begin, end: offsets, last_update_*
  "service.delete_expired": null, // offset: files
  "service.settle": null, // no fields: index_msg_timestamp
  "queue.open": null, // topic, queue_id, file_size, load: {}
  "queue.put": null, // offset, size, tags_code, cq_offset: put
  "queue.get": null, // cq_offset: unit
  "queue.bounds": null, // no fields: min, max, max_physic_offset
  "queue.recover": null, // no fields: min, max, max_physic_offset
  "queue.truncate": null, // phy_offset: min, max, max_physic_offset
  "queue.correct_min": null, // phy_min_offset: min, max, max_physic_offset
  "queue.delete_expired": null, // phy_offset: deleted, min, max, max_physic_offset
  "queue.last_offset": null, // no fields: last_offset
  "log.dispatch": null, // file, check_crc, read_body?: requests
  "checkpoint.read": null, // no fields: the three times
  "checkpoint.write": null, // the three times: the same
  "index.read": null, // file, hash_slot_num, index_num: header, entries
  "queue.read": null, // file: units
  "log.read": null, // file: records
};

/** A 64-bit integer, from its decimal string. */
function long(text) {
  if (typeof text !== "string" || !/^-?[0-9]+$/.test(text)) throw new Malformed(`a 64-bit integer: ${text}`);
  return BigInt(text);
}

/** A key or tags: text, or the hex of its UTF-16 code units when it holds a lone surrogate. Null is empty. */
function textOf(op, name) {
  const units = op[`${name}_utf16`];
  if (units === undefined) return op[name] ?? "";
  if (!/^([0-9a-fA-F]{4})*$/.test(units)) throw new Malformed(`UTF-16 in hex: ${units}`);
  return String.fromCharCode(...(units.match(/.{4}/g) ?? []).map((unit) => parseInt(unit, 16)));
}

/** One result; later operations run even when one is rejected. */
function run(one, op) {
  const operation = OPERATIONS[op.op];
  if (!operation) return { unsupported: true };
  try {
    return operation(one, op);
  } catch (error) {
    // YOURS: an error that your code reports is a verdict
    if (error instanceof Rejected) return { rejected: error.message };
    return { errored: String(error) };
  }
}

function answerCase(message) {
  const one = new Case(message.dir);
  try {
    const results = message.ops.map((op) => run(one, op));
    return { id: message.id, results, files: one.files };
  } finally {
    one.release();
  }
}

const HELLO = {
  protocol: 1,
  name: NAME,
  version: VERSION,
  language: "javascript",
  ops: Object.keys(OPERATIONS).filter((name) => OPERATIONS[name]),
  geometry: "any",
  features: ["lone_surrogates"],
  max_in_flight: 1,
};

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const message = JSON.parse(line);
  if (message.cmd === "bye") break;
  const answer = message.cmd === "hello" ? HELLO : answerCase(message);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.stdin.destroy(); // it may stay open after bye
