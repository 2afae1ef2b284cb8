//! Calls the implementation's methods, and writes the answers as JSON.

use crate::{list, text, Answer, Failure, IndexFile, Open};
use serde_json::{json, Value};
use std::path::Path;

pub struct Operations<'a, T: IndexFile> {
    implementation: &'a mut T,
    directory: &'a Path,
    open: bool,
}

impl<'a, T: IndexFile> Operations<'a, T> {
    pub fn new(implementation: &'a mut T, directory: &'a Path) -> Self {
        Operations { implementation, directory, open: false }
    }

    pub fn run(&mut self, op: &Value) -> Answer<Value> {
        match text(&op["op"]) {
            "key.hash" => Ok(json!({ "hash": self.implementation.key_hash(key(op)?)? })),
            "index.open" => self.open_file(op),
            name if !name.starts_with("index.") => self.implementation.other(self.directory, op),
            _ if !self.open => Err(Failure::Error("no index file is open".into())),
            name => self.on_file(name, op),
        }
    }

    fn open_file(&mut self, op: &Value) -> Answer<Value> {
        if self.open {
            self.open = false;
            self.implementation.close()?;
        }
        let how = Open {
            hash_slot_num: number(op, "hash_slot_num"),
            index_num: number(op, "index_num"),
            end_phy_offset: integer(&op["end_phy_offset"]),
            end_timestamp: integer(&op["end_timestamp"]),
            load: op["load"] == true,
        };
        self.implementation.open(&self.directory.join(text(&op["file"])), how)?;
        self.open = true;
        Ok(json!({}))
    }

    fn on_file(&mut self, name: &str, op: &Value) -> Answer<Value> {
        let implementation = &mut *self.implementation;
        Ok(match name {
            "index.put" => {
                let (offset, timestamp) = (integer(&op["phy_offset"]), integer(&op["store_timestamp"]));
                json!({ "put": implementation.put(key(op)?, offset, timestamp)? })
            }
            "index.select" => {
                let initial = op.get("initial").map_or(vec![], |given| list(given).iter().map(integer).collect());
                let window = (integer(&op["begin"]), integer(&op["end"]));
                let offsets = implementation.select(initial, key(op)?, number(op, "max_num"), window)?;
                json!({ "offsets": offsets.iter().map(i64::to_string).collect::<Vec<_>>() })
            }
            "index.time_matched" => {
                json!({ "matched": implementation.time_matched(integer(&op["begin"]), integer(&op["end"]))? })
            }
            "index.header" => {
                let header = implementation.header()?;
                json!({
                    "begin_timestamp": header.begin_timestamp.to_string(),
                    "end_timestamp": header.end_timestamp.to_string(),
                    "begin_phy_offset": header.begin_phy_offset.to_string(),
                    "end_phy_offset": header.end_phy_offset.to_string(),
                    "hash_slot_count": header.hash_slot_count,
                    "index_count": header.index_count,
                })
            }
            "index.full" => json!({ "full": implementation.full()? }),
            "index.flush" => {
                implementation.flush()?;
                json!({})
            }
            "index.close" => {
                self.open = false;
                implementation.close()?;
                json!({})
            }
            _ => return Err(Failure::NotOffered),
        })
    }
}

/// The key; one with a lone surrogate, which no string of Rust holds, is not offered.
fn key(op: &Value) -> Answer<&str> {
    op["key"].as_str().ok_or(Failure::NotOffered)
}

fn number(op: &Value, name: &str) -> i32 {
    op[name].as_i64().and_then(|value| value.try_into().ok()).expect("a 32-bit number")
}

/// A 64-bit integer, which is a decimal string.
fn integer(value: &Value) -> i64 {
    text(value).parse().expect("a 64-bit integer")
}
