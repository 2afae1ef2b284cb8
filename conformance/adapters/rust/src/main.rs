//! A starter adapter for adapter protocol 1: no dependencies, one object a line on stdin and stdout.
//!
//! Copy the folder, and put calls to your own code where this file calls index_file.rs, the example. Everything
//! marked YOURS is what you change; the rest is the protocol. 64-bit integers travel as decimal strings, 32-bit ones
//! as numbers. Stdout belongs to the protocol: write your log to stderr.

mod index_file;
mod json;

use index_file::{key_hash, string_hash, IndexFile}; // YOURS
use json::Json;
use std::io::{self, BufRead, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;

const NAME: &str = "my-index"; // YOURS
const VERSION: &str = "0.1.0"; // YOURS

/// How an operation may end other than well.
enum Failure {
    /// Your code reported an error: a verdict, compared with what 4.9.3 does.
    Rejected(String),
    /// The adapter failed, or did not understand what was sent: never a match.
    Errored(String),
    Unsupported,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Rejected(error.to_string()) // YOURS: the errors of your code
    }
}

type Outcome = Result<Json, Failure>;

/// One operation, and its fields read strictly.
struct Op<'a>(&'a Json);

impl Op<'_> {
    fn field(&self, name: &str) -> Result<&Json, Failure> {
        self.0.get(name).ok_or_else(|| Failure::Errored(format!("no field {name}")))
    }

    fn text(&self, name: &str) -> Result<&str, Failure> {
        self.field(name)?.as_str().ok_or_else(|| Failure::Errored(format!("{name} is no string")))
    }

    fn i32(&self, name: &str) -> Result<i32, Failure> {
        let value = self.field(name)?.as_i64().and_then(|value| i32::try_from(value).ok());
        value.ok_or_else(|| Failure::Errored(format!("{name} is no 32-bit number")))
    }

    fn i64(&self, name: &str) -> Result<i64, Failure> {
        parse_i64(self.text(name)?)
    }

    fn flag(&self, name: &str) -> Result<bool, Failure> {
        self.field(name)?.as_bool().ok_or_else(|| Failure::Errored(format!("{name} is no boolean")))
    }

    fn initial(&self) -> Result<Vec<i64>, Failure> {
        let Some(Json::Array(values)) = self.0.get("initial") else { return Ok(vec![]) };
        values.iter().map(|value| parse_i64(value.as_str().unwrap_or_default())).collect()
    }

    fn key(&self) -> Result<Vec<u16>, Failure> {
        self.units("key")
    }

    /// The UTF-16 code units of a key or tags: text, or hex when it holds a lone surrogate; null is empty here.
    fn units(&self, name: &str) -> Result<Vec<u16>, Failure> {
        let name16 = format!("{name}_utf16");
        let Some(hex) = self.0.get(&name16).and_then(Json::as_str) else {
            let null = matches!(self.field(name)?, Json::Null);
            return Ok(if null { vec![] } else { self.text(name)?.encode_utf16().collect() });
        };
        let units = (0..hex.len() / 4).map(|i| u16::from_str_radix(&hex[4 * i..4 * i + 4], 16));
        units.collect::<Result<_, _>>().map_err(|error| Failure::Errored(format!("{name16}: {error}")))
    }
}

fn parse_i64(text: &str) -> Result<i64, Failure> {
    text.parse().map_err(|error| Failure::Errored(format!("{text:?}: {error}")))
}

/// One case: a directory, and the index file that is open in it. Dropping the index file closes it, without a flush.
struct Case {
    dir: PathBuf,
    index: Option<IndexFile>, // YOURS
    files: Vec<Json>,
}

/// What is declared. The other operations, with their fields and results, wait for yours in `Case::run`.
const OPS: [&str; 10] = [
    "key.hash",
    "tags.code",
    "index.open",
    "index.put",
    "index.select",
    "index.time_matched",
    "index.header",
    "index.full",
    "index.flush",
    "index.close",
];

impl Case {
    fn run(&mut self, op: &Op) -> Outcome {
        match op.text("op")? {
            "key.hash" => Ok(json::object([("hash", Json::from(key_hash(&op.key()?)))])), // YOURS
            "tags.code" => {
                let code = i64::from(string_hash(&op.units("tags")?)); // YOURS
                Ok(json::object([("tags_code", i64_text(code))]))
            }
            "index.open" => self.open(op),
            "index.put" => {
                let (key, offset, time) = (op.key()?, op.i64("phy_offset")?, op.i64("store_timestamp")?);
                let put = self.opened()?.put(&key, offset, time)?; // YOURS
                Ok(json::object([("put", Json::Bool(put))]))
            }
            "index.select" => {
                let (key, max_num, begin, end) = (op.key()?, op.i32("max_num")?, op.i64("begin")?, op.i64("end")?);
                let found = self.opened()?.select(op.initial()?, &key, max_num, begin, end)?; // YOURS
                Ok(json::object([("offsets", Json::Array(found.into_iter().map(i64_text).collect()))]))
            }
            "index.time_matched" => {
                let matched = self.opened()?.time_matched(op.i64("begin")?, op.i64("end")?); // YOURS
                Ok(json::object([("matched", Json::Bool(matched))]))
            }
            "index.header" => self.header(),
            "index.full" => Ok(json::object([("full", Json::Bool(self.opened()?.full()))])), // YOURS
            "index.flush" => {
                self.opened()?.flush()?; // YOURS
                Ok(json::object([]))
            }
            "index.close" => {
                self.opened()?;
                self.index = None;
                Ok(json::object([]))
            }
            // YOURS: fill in what you have, and add its name to OPS
            "service.open" => Err(Failure::Unsupported), // hash_slot_num, index_num, last_exit_ok, index_msg_timestamp: files
            "service.build" => Err(Failure::Unsupported), // topic, uniq_key, keys, commit_log_offset, store_timestamp, sys_flag: {}
            "service.query" => Err(Failure::Unsupported), // topic, key, max_num, begin, end: offsets, last_update_*
            "service.delete_expired" => Err(Failure::Unsupported), // offset: files
            "service.settle" => Err(Failure::Unsupported), // no fields: index_msg_timestamp
            "queue.open" => Err(Failure::Unsupported),    // topic, queue_id, file_size, load: {}
            "queue.put" => Err(Failure::Unsupported),     // offset, size, tags_code, cq_offset: put
            "queue.get" => Err(Failure::Unsupported),     // cq_offset: unit
            "queue.bounds" => Err(Failure::Unsupported),  // no fields: min, max, max_physic_offset
            "queue.recover" => Err(Failure::Unsupported), // no fields: min, max, max_physic_offset
            "queue.truncate" => Err(Failure::Unsupported), // phy_offset: min, max, max_physic_offset
            "queue.correct_min" => Err(Failure::Unsupported), // phy_min_offset: min, max, max_physic_offset
            "queue.delete_expired" => Err(Failure::Unsupported), // phy_offset: deleted, min, max, max_physic_offset
            "queue.last_offset" => Err(Failure::Unsupported), // no fields: last_offset
            "log.dispatch" => Err(Failure::Unsupported),  // file, check_crc, read_body?: requests
            "checkpoint.read" => Err(Failure::Unsupported), // no fields: the three times
            "checkpoint.write" => Err(Failure::Unsupported), // the three times: the same
            "index.read" => Err(Failure::Unsupported),    // file, hash_slot_num, index_num: header, entries
            "queue.read" => Err(Failure::Unsupported),    // file: units
            "log.read" => Err(Failure::Unsupported),      // file: records
            _ => Err(Failure::Unsupported),
        }
    }

    fn opened(&mut self) -> Result<&mut IndexFile, Failure> {
        self.index.as_mut().ok_or_else(|| Failure::Rejected("no index file is open".into()))
    }

    fn open(&mut self, op: &Op) -> Outcome {
        let file = op.text("file")?;
        self.index = None;
        self.files.push(json::object([("role", Json::from("index")), ("path", Json::from(file))]));
        let geometry = (op.i32("hash_slot_num")?, op.i32("index_num")?);
        let seeds = (op.i64("end_phy_offset")?, op.i64("end_timestamp")?);
        let index = IndexFile::open(&self.dir.join(file), geometry, seeds, op.flag("load")?)?; // YOURS
        self.index = Some(index);
        Ok(json::object([]))
    }

    fn header(&mut self) -> Outcome {
        let header = self.opened()?.header; // YOURS: the header in memory
        Ok(json::object([
            ("begin_timestamp", i64_text(header.begin_timestamp)),
            ("end_timestamp", i64_text(header.end_timestamp)),
            ("begin_phy_offset", i64_text(header.begin_phy_offset)),
            ("end_phy_offset", i64_text(header.end_phy_offset)),
            ("hash_slot_count", Json::from(header.hash_slot_count)),
            ("index_count", Json::from(header.index_count)),
        ]))
    }
}

fn i64_text(value: i64) -> Json {
    Json::String(value.to_string())
}

/// One operation; a panic is what an unchecked exception is in 4.9.3.
fn run_op(case: &mut Case, op: &Op) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| case.run(op))).unwrap_or_else(|why| {
        let text = why.downcast_ref::<String>().map(String::as_str).or(why.downcast_ref::<&str>().copied());
        Err(Failure::Rejected(text.unwrap_or("panic").into())) // YOURS
    })
}

/// The answer to a case: one result per operation; later ones run even when one is rejected or panics.
fn run_case(message: &Json) -> Result<Json, String> {
    let dir = message.get("dir").and_then(Json::as_str).ok_or("no dir")?;
    let Some(Json::Array(ops)) = message.get("ops") else { return Err("no ops".into()) };
    let mut case = Case { dir: dir.into(), index: None, files: vec![] };
    let mut results = vec![];
    for op in ops {
        results.push(match run_op(&mut case, &Op(op)) {
            Ok(result) => result,
            Err(Failure::Rejected(why)) => json::object([("rejected", Json::String(why))]),
            Err(Failure::Errored(why)) => json::object([("errored", Json::String(why))]),
            Err(Failure::Unsupported) => json::object([("unsupported", Json::Bool(true))]),
        });
    }
    let id = message.get("id").ok_or("no id")?.clone();
    Ok(json::object([("id", id), ("results", Json::Array(results)), ("files", Json::Array(case.files))]))
}

fn hello() -> Json {
    json::object([
        ("protocol", Json::from(1)),
        ("name", Json::from(NAME)),
        ("version", Json::from(VERSION)),
        ("language", Json::from("rust")),
        ("ops", Json::Array(OPS.into_iter().map(Json::from).collect())),
        ("geometry", Json::from("any")),
        ("features", Json::Array(vec![Json::from("lone_surrogates")])),
        ("max_in_flight", Json::from(1)),
    ])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let message = json::parse(&line?)?;
        let answer = match message.get("cmd").and_then(Json::as_str) {
            Some("hello") => hello(),
            Some("case") => run_case(&message)?,
            Some("bye") => break,
            other => return Err(format!("unknown command {other:?}").into()),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}
