// The whole interface over index-file.js, which your code replaces.

import { checkIndexFile } from "rocketmq-store-vectors";
import { IndexFile, keyHash } from "./index-file.js";

class Whole {
  keyHash(key) {
    return keyHash(key);
  }
  open(path, { hashSlotNum, indexNum, ...how }) {
    this.file = IndexFile.open(path, hashSlotNum, indexNum, how);
  }
  put(key, phyOffset, storeTimestamp) {
    return this.file.put(key, phyOffset, storeTimestamp);
  }
  select(offsets, key, maxNum, begin, end) {
    return this.file.select(offsets, key, maxNum, begin, end);
  }
  timeMatched(begin, end) {
    return this.file.timeMatched(begin, end);
  }
  header() {
    return this.file.header;
  }
  full() {
    return this.file.full;
  }
  flush() {
    this.file.flush();
  }
  close() {
    this.file?.close();
    this.file = undefined;
  }
}

checkIndexFile(() => new Whole());
