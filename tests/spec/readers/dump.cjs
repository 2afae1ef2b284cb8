// Prints what the readers that Kaitai compiled to JavaScript read, in the form of Dump.java. NODE_PATH leads to the runtime.
//   node dump.cjs READERS_FOLDER
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const KaitaiStream = require("kaitai-struct/KaitaiStream");

const reader = (name) => require(join(process.argv[2], `${name}.js`))[name];
const lines = [];
const text = (field) => (field instanceof Uint8Array ? Buffer.from(field).toString("hex") : String(field));
const print = (...fields) => lines.push(fields.map(text).join("\t"));
const host = (value) => [value.address, value.port];

function record(length, value) {
  print("record", length, value.phyOffset, value.queueId, value.queueOffset, value.sysFlag, value.flag,
    value.bornTimestamp, value.storeTimestamp, value.reconsumeTimes, value.preparedTransactionOffset, value.bodyCrc,
    ...host(value.bornHost), ...host(value.storeHost), value.body, value.topic, value.properties);
}

function readable(step) {
  try {
    return step.record.phyOffset;
  } catch {
    return "unreadable";
  }
}

const kinds = {
  index(io, slots, entries) {
    const Indexfile = reader("Rocketmq4Indexfile");
    const file = new Indexfile(io, undefined, undefined, slots, entries);
    const { header } = file;
    print("header", header.beginTimestamp, header.endTimestamp, header.beginPhyOffset, header.endPhyOffset,
      header.hashSlotCount, header.indexCount);
    for (const entry of file.entries)
      print("index", entry.keyHash, entry.phyOffset, entry.timeDiff, entry.prevEntry, entry.storeTimestamp);
  },
  queue(io) {
    for (const unit of new (reader("Rocketmq4Consumequeue"))(io).units)
      if (unit.isInUse)
        print("unit", unit.phyOffset, unit.lenRecord, unit.isExtAddress ? "" : unit.tagsCode, unit.isExtAddress ? unit.ofsExtUnit : "");
  },
  ext(io) {
    for (const unit of new (reader("Rocketmq4ConsumequeueExt"))(io).units)
      if (unit.isUnit) print("ext", unit.lenUnit, unit.tagsCode, unit.storeTimestamp, unit.bitMap);
  },
  log(io) {
    for (const frame of new (reader("Rocketmq4Commitlog"))(io).frames) if (frame.isRecord) record(frame.lenTotal, frame.record);
  },
  lenient(io) {
    for (const step of new (reader("Rocketmq4CommitlogLenient"))(io).steps) if (step.isRecord) print("found", step.ofsRecord, readable(step));
  },
  dledger(io) {
    for (const entry of new (reader("Rocketmq4Dledger"))(io).entries) {
      if (!entry.isEntry) continue;
      print("entry", entry.pos, entry.lenEntry, entry.index, entry.term, entry.channel, entry.chainCrc, entry.bodyCrc,
        entry.lenBody, entry.phyOffset);
      record(entry.body.lenTotal, entry.body.record);
    }
  },
  dledger_index(io) {
    for (const unit of new (reader("Rocketmq4DledgerIndex"))(io).units)
      if (unit.isInUse) print("where", unit.pos, unit.lenEntry, unit.index, unit.term);
  },
  checkpoint(io) {
    const point = new (reader("Rocketmq4Checkpoint"))(io);
    print("checkpoint", point.physicMsgTimestamp, point.logicsMsgTimestamp, point.indexMsgTimestamp);
  },
};

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const [kind, path, slots, entries] = line.split("\t");
  print("file", path);
  kinds[kind](new KaitaiStream(readFileSync(path)), Number(slots), Number(entries));
}
process.stdout.write(lines.map((line) => `${line}\n`).join(""));
