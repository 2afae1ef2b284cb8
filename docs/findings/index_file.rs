//! In place of the Rust starter's `index_file.rs`: the public parts of rocketmq-store-local 1.0.0 (string hash, file size,
//! header codec, the drivers of put and select, time match) over a file that is opened, written and flushed here, as 4.9.3
//! does it: the crate's own `IndexFile` is private.

use rocketmq_model::common::hasher::string_hasher::JavaStringHasher;
use rocketmq_store_local::index::codec::{index_file_total_size, IndexHeaderRecord};
use rocketmq_store_local::index::file::{
    drive_index_put, is_index_time_matched, normalize_index_key_hash, query_index_offsets, IndexFileSnapshot,
    IndexHeaderUpdate, IndexPutOutcome,
};
use std::cell::RefCell;
use std::fs::{create_dir_all, File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::Path;

pub struct IndexFile {
    pub header: IndexHeaderRecord,
    file: RefCell<File>,
    size: usize,
    slots: usize,
    entries: usize,
}

pub fn string_hash(units: &[u16]) -> i32 {
    JavaStringHasher::hash_str(&String::from_utf16_lossy(units))
}

pub fn key_hash(units: &[u16]) -> i32 {
    normalize_index_key_hash(string_hash(units))
}

fn invalid(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, what.into())
}

impl IndexFile {
    pub fn open(path: &Path, (slots, entries): (i32, i32), seeds: (i64, i64), load: bool) -> Result<IndexFile> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.parse::<i64>().map_err(|error| invalid(format!("{name:?}: {error}")))?;
        let slots = usize::try_from(slots).map_err(|_| invalid("slots"))?;
        let entries = usize::try_from(entries).map_err(|_| invalid("entries"))?;
        let size = index_file_total_size(slots, entries).ok_or_else(|| invalid("size"))?;
        i32::try_from(size).map_err(|_| invalid("index file size exceeds i32 progress range"))?;
        if let Some(parent) = path.parent() {
            create_dir_all(parent)?;
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        if file.metadata()?.len() < size as u64 {
            file.set_len(size as u64)?;
        }
        let header = IndexHeaderRecord { index_count: 1, ..IndexHeaderRecord::default() };
        let mut index = IndexFile { header, file: RefCell::new(file), size, slots, entries };
        let (offset, time) = seeds;
        let mut updates = vec![];
        if offset > 0 {
            updates.extend([IndexHeaderUpdate::SetBeginPhyOffset(offset), IndexHeaderUpdate::SetEndPhyOffset(offset)]);
        }
        if time > 0 {
            updates.extend([IndexHeaderUpdate::SetBeginTimestamp(time), IndexHeaderUpdate::SetEndTimestamp(time)]);
        }
        if !updates.is_empty() {
            index.apply(&updates)?;
        }
        if load {
            let bytes: [u8; 40] = index.read(0).ok_or_else(|| invalid("no header"))?;
            index.header = IndexHeaderRecord::decode(&bytes).ok_or_else(|| invalid("header"))?;
        }
        Ok(index)
    }

    fn apply(&mut self, updates: &[IndexHeaderUpdate]) -> Result<()> {
        for update in updates {
            let header = &mut self.header;
            let (at, bytes) = match *update {
                IndexHeaderUpdate::SetBeginPhyOffset(value) => {
                    header.begin_phy_offset = value;
                    (16, value.to_be_bytes().to_vec())
                }
                IndexHeaderUpdate::SetBeginTimestamp(value) => {
                    header.begin_timestamp = value;
                    (0, value.to_be_bytes().to_vec())
                }
                IndexHeaderUpdate::IncrementHashSlotCount => {
                    header.hash_slot_count = header.hash_slot_count.wrapping_add(1);
                    (32, header.hash_slot_count.to_be_bytes().to_vec())
                }
                IndexHeaderUpdate::IncrementIndexCount => {
                    header.index_count = header.index_count.wrapping_add(1);
                    (36, header.index_count.to_be_bytes().to_vec())
                }
                IndexHeaderUpdate::SetEndPhyOffset(value) => {
                    header.end_phy_offset = value;
                    (24, value.to_be_bytes().to_vec())
                }
                IndexHeaderUpdate::SetEndTimestamp(value) => {
                    header.end_timestamp = value;
                    (8, value.to_be_bytes().to_vec())
                }
            };
            if !self.write(at, &bytes) {
                return Err(invalid("header outside the file"));
            }
        }
        Ok(())
    }

    fn snapshot(&self) -> IndexFileSnapshot {
        IndexFileSnapshot::new(self.slots, self.entries, self.header.index_count, self.header.begin_timestamp)
    }

    pub fn put(&mut self, key: &[u16], phy_offset: i64, store_timestamp: i64) -> Result<bool> {
        let written = RefCell::new(true);
        let mut updates = vec![];
        let outcome = drive_index_put(
            self.snapshot(),
            key_hash(key),
            phy_offset,
            store_timestamp,
            |position| self.read(position),
            |position, bytes| {
                if *written.borrow() && !self.write(position, bytes) {
                    *written.borrow_mut() = false;
                }
            },
            |update| updates.push(update),
        );
        Ok(outcome == IndexPutOutcome::Written && *written.borrow() && self.apply(&updates).is_ok())
    }

    pub fn select(&mut self, initial: Vec<i64>, key: &[u16], max_num: i32, begin: i64, end: i64) -> Result<Vec<i64>> {
        let mut offsets = initial;
        let most = usize::try_from(max_num).unwrap_or(0);
        query_index_offsets(
            self.snapshot(),
            key_hash(key),
            most,
            begin,
            end,
            &mut offsets,
            |position| self.read(position),
            |position| self.read(position),
        );
        Ok(offsets)
    }

    pub fn time_matched(&self, begin: i64, end: i64) -> bool {
        is_index_time_matched(self.header.begin_timestamp, self.header.end_timestamp, begin, end)
    }

    pub fn full(&self) -> bool {
        self.header.index_count >= self.entries as i32
    }

    pub fn flush(&mut self) -> Result<()> {
        if self.write(0, &self.header.encode()) {
            Ok(())
        } else {
            Err(invalid("header outside the file"))
        }
    }

    fn read<const N: usize>(&self, position: usize) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        if position.checked_add(N)? > self.size {
            return None;
        }
        let mut file = self.file.borrow_mut();
        file.seek(SeekFrom::Start(position as u64)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    fn write(&self, position: usize, bytes: &[u8]) -> bool {
        if position.checked_add(bytes.len()).is_none_or(|end| end > self.size) {
            return false;
        }
        let mut file = self.file.borrow_mut();
        file.seek(SeekFrom::Start(position as u64)).is_ok() && file.write_all(bytes).is_ok()
    }
}
