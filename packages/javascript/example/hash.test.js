import { checkIndexFile } from "rocketmq-store-vectors";

// A wrong hash, over the bytes of the key. It fails, and names IDX-HASH-1. Only key.hash is offered.
class WrongHash {
  keyHash(key) {
    let hash = 0;
    for (const one of new Int8Array(new TextEncoder().encode(key))) hash = (Math.imul(31, hash) + one) | 0;
    return Math.max(0, Math.abs(hash) | 0);
  }
}

checkIndexFile(() => new WrongHash());
