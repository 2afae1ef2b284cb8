// The example that adapter.js calls: an index file as RocketMQ 4.9.3 keeps it, small and slow. Your code replaces it.
//
// 32-bit integers are numbers, kept in range by `| 0` and Math.imul; 64-bit ones are BigInt. Both wrap as Java's do.

import fs from "node:fs";
import { basename, dirname } from "node:path";

const HEADER_SIZE = 40;
const SLOT_SIZE = 4;
const ENTRY_SIZE = 20;
const INT_MAX = 0x7fffffff;

/** An error that the implementation reports. */
export class Rejected extends Error {}

/** A write or read outside the file. */
class Outside extends Rejected {}

/** Java's hashCode of a string, over its UTF-16 code units. */
export function stringHash(text) {
  let hash = 0;
  for (let place = 0; place < text.length; place++) hash = (Math.imul(31, hash) + text.charCodeAt(place)) | 0;
  return hash;
}

/** Math.abs of the string hash; the one negative result of abs counts as 0. */
export function keyHash(text) {
  return Math.max(0, Math.abs(stringHash(text)) | 0);
}

/** Whether Java's Long.parseLong takes the text. */
function isLong(text) {
  if (!/^[+-]?[0-9]+$/.test(text)) return false;
  const value = BigInt(text.replace("+", ""));
  return BigInt.asIntN(64, value) === value;
}

/** An open file, of which the first `size` bytes count. */
export class IndexFile {
  /** Makes the file, or extends it with zeros; seeds count only when above 0, and are written before a load. */
  static open(path, slots, entries, { endPhyOffset, endTimestamp, load }) {
    const name = basename(path);
    if (!isLong(name)) throw new Rejected(`not a file name: ${name}`);
    const size = (HEADER_SIZE + Math.imul(slots, SLOT_SIZE) + Math.imul(entries, ENTRY_SIZE)) | 0;
    fs.mkdirSync(dirname(path), { recursive: true });
    const descriptor = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o644);
    const file = new IndexFile(descriptor, size, slots, entries);
    try {
      file.#prepare(endPhyOffset, endTimestamp, load);
    } catch (error) {
      file.close();
      throw error;
    }
    return file;
  }

  constructor(descriptor, size, slots, entries) {
    this.header = {
      beginTimestamp: 0n,
      endTimestamp: 0n,
      beginPhyOffset: 0n,
      endPhyOffset: 0n,
      hashSlotCount: 0,
      indexCount: 1,
    };
    this.descriptor = descriptor;
    this.size = size;
    this.slots = slots;
    this.capacity = entries;
  }

  #prepare(endPhyOffset, endTimestamp, load) {
    if (this.size < 0) throw new Rejected(`negative size ${this.size}`);
    if (fs.fstatSync(this.descriptor).size < this.size) fs.ftruncateSync(this.descriptor, this.size);
    if (endPhyOffset > 0n) {
      this.#setLong(16, "beginPhyOffset", endPhyOffset);
      this.#setLong(24, "endPhyOffset", endPhyOffset);
    }
    if (endTimestamp > 0n) {
      this.#setLong(0, "beginTimestamp", endTimestamp);
      this.#setLong(8, "endTimestamp", endTimestamp);
    }
    if (load) this.#load();
  }

  #load() {
    const data = this.#read(0, HEADER_SIZE);
    const count = data.readInt32BE(36);
    this.header = {
      beginTimestamp: data.readBigInt64BE(0),
      endTimestamp: data.readBigInt64BE(8),
      beginPhyOffset: data.readBigInt64BE(16),
      endPhyOffset: data.readBigInt64BE(24),
      hashSlotCount: data.readInt32BE(32),
      indexCount: count <= 0 ? 1 : count,
    };
  }

  get full() {
    return this.header.indexCount >= this.capacity;
  }

  /** Adds an entry. Full, or a write outside the file: false, and what was written before it stays. */
  put(key, phyOffset, storeTimestamp) {
    if (this.full) return false;
    const hash = keyHash(key);
    const slot = this.#slotPosition(hash);
    try {
      this.#write(hash, slot, phyOffset, storeTimestamp);
    } catch (error) {
      if (error instanceof Outside) return false;
      throw error;
    }
    return true;
  }

  #write(hash, slot, phyOffset, storeTimestamp) {
    const count = this.header.indexCount;
    let previous = this.#read(slot, 4).readInt32BE(0);
    if (previous <= 0 || previous > count) previous = 0;
    const entry = this.#entryPosition(count);
    this.#writeInt(entry, hash);
    this.#writeLong((entry + 4) | 0, phyOffset);
    this.#writeInt((entry + 12) | 0, this.#timeDiff(storeTimestamp));
    this.#writeInt((entry + 16) | 0, previous);
    this.#writeInt(slot, count);
    if (count <= 1) {
      this.#setLong(16, "beginPhyOffset", phyOffset);
      this.#setLong(0, "beginTimestamp", storeTimestamp);
    }
    if (previous === 0) this.#setInt(32, "hashSlotCount", (this.header.hashSlotCount + 1) | 0);
    this.#setInt(36, "indexCount", (count + 1) | 0);
    this.#setLong(24, "endPhyOffset", phyOffset);
    this.#setLong(8, "endTimestamp", storeTimestamp);
  }

  /** Whole seconds since the header's begin; the subtraction wraps. */
  #timeDiff(storeTimestamp) {
    const begin = this.header.beginTimestamp;
    const seconds = BigInt.asIntN(64, storeTimestamp - begin) / 1000n;
    if (begin <= 0n || seconds < 0n) return 0;
    return seconds > BigInt(INT_MAX) ? INT_MAX : Number(seconds);
  }

  /** `offsets`, and the offsets of entries with the key's hash, newest first, until there are `maxNum`. */
  select(offsets, key, maxNum, begin, end) {
    const found = [...offsets];
    const hash = keyHash(key);
    const slot = this.#slotPosition(hash);
    const count = this.header.indexCount;
    try {
      let entry = this.#read(slot, 4).readInt32BE(0);
      if (entry <= 0 || entry > count || count <= 1) return found;
      while (found.length < maxNum) {
        const data = this.#read(this.#entryPosition(entry), ENTRY_SIZE);
        const timeDiff = data.readInt32BE(12);
        const previous = data.readInt32BE(16);
        if (timeDiff < 0) break;
        const time = BigInt.asIntN(64, this.header.beginTimestamp + BigInt(timeDiff) * 1000n);
        if (data.readInt32BE(0) === hash && begin <= time && time <= end) found.push(data.readBigInt64BE(4));
        if (previous <= 0 || previous > count || previous === entry || time < begin) break;
        entry = previous;
      }
    } catch (error) {
      if (!(error instanceof Outside)) throw error;
    }
    return found;
  }

  /** Whether the window covers the file, or begins or ends within it. */
  timeMatched(begin, end) {
    const { beginTimestamp: first, endTimestamp: last } = this.header;
    return (begin < first && end > last) || (first <= begin && begin <= last) || (first <= end && end <= last);
  }

  /** Writes the header in memory to the file. */
  flush() {
    const { header } = this;
    this.#writeLong(0, header.beginTimestamp);
    this.#writeLong(8, header.endTimestamp);
    this.#writeLong(16, header.beginPhyOffset);
    this.#writeLong(24, header.endPhyOffset);
    this.#writeInt(32, header.hashSlotCount);
    this.#writeInt(36, header.indexCount);
  }

  /** Frees the file, and writes nothing. */
  close() {
    fs.closeSync(this.descriptor);
  }

  #slotPosition(hash) {
    if (this.slots === 0) throw new Rejected("no slots");
    return (HEADER_SIZE + Math.imul(hash % this.slots, SLOT_SIZE)) | 0;
  }

  #entryPosition(entry) {
    return (HEADER_SIZE + Math.imul(this.slots, SLOT_SIZE) + Math.imul(entry, ENTRY_SIZE)) | 0;
  }

  #check(position, length) {
    if (position < 0 || position + length > this.size) throw new Outside(`byte ${position} is outside the file`);
  }

  #read(position, length) {
    this.#check(position, length);
    const data = Buffer.alloc(length);
    fs.readSync(this.descriptor, data, 0, length, position);
    return data;
  }

  // A header field is set before its bytes are written, as in Java.

  #setInt(position, field, value) {
    this.header[field] = value;
    this.#writeInt(position, value);
  }

  #setLong(position, field, value) {
    this.header[field] = value;
    this.#writeLong(position, value);
  }

  #writeInt(position, value) {
    this.#check(position, 4);
    const data = Buffer.alloc(4);
    data.writeInt32BE(value);
    fs.writeSync(this.descriptor, data, 0, 4, position);
  }

  #writeLong(position, value) {
    this.#check(position, 8);
    const data = Buffer.alloc(8);
    data.writeBigInt64BE(value);
    fs.writeSync(this.descriptor, data, 0, 8, position);
  }
}
