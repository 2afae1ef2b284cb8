//! The example that main.rs calls: an index file as RocketMQ 4.9.3 keeps it, small and slow. Yours replaces it.

use std::fs::{create_dir_all, File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::Path;

const HEADER_SIZE: i32 = 40;
const SLOT_SIZE: i32 = 4;
const ENTRY_SIZE: i32 = 20;

/// Kept in memory; each change goes through to the file.
#[derive(Clone, Copy, Default)]
pub struct Header {
    pub begin_timestamp: i64,
    pub end_timestamp: i64,
    pub begin_phy_offset: i64,
    pub end_phy_offset: i64,
    pub hash_slot_count: i32,
    pub index_count: i32,
}

/// An open file, of which the first `size` bytes count. Positions are i32 and may wrap, as Java's do.
pub struct IndexFile {
    pub header: Header,
    file: File,
    size: i32,
    slots: i32,
    capacity: i32,
}

/// Java's hashCode over UTF-16 code units.
pub fn string_hash(units: &[u16]) -> i32 {
    units.iter().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(*unit)))
}

/// Math.abs of the string hash; the one negative result of abs counts as 0.
pub fn key_hash(units: &[u16]) -> i32 {
    string_hash(units).wrapping_abs().max(0)
}

fn invalid(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, what.into())
}

impl IndexFile {
    /// Makes the file, or extends it with zeros; seeds (end offset, end time) count only when above 0, and are
    /// written before a load.
    pub fn open(path: &Path, (slots, entries): (i32, i32), seeds: (i64, i64), load: bool) -> Result<IndexFile> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.parse::<i64>().map_err(|error| invalid(format!("{name:?}: {error}")))?;
        if let Some(parent) = path.parent() {
            create_dir_all(parent)?;
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let size =
            HEADER_SIZE.wrapping_add(slots.wrapping_mul(SLOT_SIZE)).wrapping_add(entries.wrapping_mul(ENTRY_SIZE));
        let length = u64::try_from(size).map_err(|_| invalid(format!("negative size {size}")))?;
        if file.metadata()?.len() < length {
            file.set_len(length)?;
        }
        let header = Header { index_count: 1, ..Header::default() };
        let mut index = IndexFile { header, file, size, slots, capacity: entries };
        let (end_phy_offset, end_timestamp) = seeds;
        if end_phy_offset > 0 {
            index.set_begin_phy_offset(end_phy_offset)?;
            index.set_end_phy_offset(end_phy_offset)?;
        }
        if end_timestamp > 0 {
            index.set_begin_timestamp(end_timestamp)?;
            index.set_end_timestamp(end_timestamp)?;
        }
        if load {
            index.load()?;
        }
        Ok(index)
    }

    fn load(&mut self) -> Result<()> {
        self.header = Header {
            begin_timestamp: self.read_i64(0)?,
            end_timestamp: self.read_i64(8)?,
            begin_phy_offset: self.read_i64(16)?,
            end_phy_offset: self.read_i64(24)?,
            hash_slot_count: self.read_i32(32)?,
            index_count: self.read_i32(36)?,
        };
        if self.header.index_count <= 0 {
            self.header.index_count = 1;
        }
        Ok(())
    }

    /// Adds an entry. Full, or a write outside the file: false, and what was written before it stays.
    pub fn put(&mut self, key: &[u16], phy_offset: i64, store_timestamp: i64) -> Result<bool> {
        if self.full() {
            return Ok(false);
        }
        let hash = key_hash(key);
        let slot = self.slot_position(hash)?;
        Ok(self.put_at(slot, hash, phy_offset, store_timestamp).is_ok())
    }

    fn put_at(&mut self, slot: i32, hash: i32, phy_offset: i64, store_timestamp: i64) -> Result<()> {
        let count = self.header.index_count;
        let mut previous = self.read_i32(slot)?;
        if previous <= 0 || previous > count {
            previous = 0;
        }
        let entry = self.entry_position(count);
        self.write(entry, &hash.to_be_bytes())?;
        self.write(entry.wrapping_add(4), &phy_offset.to_be_bytes())?;
        self.write(entry.wrapping_add(12), &self.time_diff(store_timestamp).to_be_bytes())?;
        self.write(entry.wrapping_add(16), &previous.to_be_bytes())?;
        self.write(slot, &count.to_be_bytes())?;
        if count <= 1 {
            self.set_begin_phy_offset(phy_offset)?;
            self.set_begin_timestamp(store_timestamp)?;
        }
        if previous == 0 {
            self.header.hash_slot_count = self.header.hash_slot_count.wrapping_add(1);
            self.write(32, &self.header.hash_slot_count.to_be_bytes())?;
        }
        self.header.index_count = count.wrapping_add(1);
        self.write(36, &self.header.index_count.to_be_bytes())?;
        self.set_end_phy_offset(phy_offset)?;
        self.set_end_timestamp(store_timestamp)
    }

    /// Whole seconds since the header's begin; the subtraction wraps.
    fn time_diff(&self, store_timestamp: i64) -> i32 {
        let begin = self.header.begin_timestamp;
        if begin <= 0 {
            return 0;
        }
        let seconds = store_timestamp.wrapping_sub(begin) / 1000;
        seconds.clamp(0, i32::MAX.into()) as i32
    }

    /// Appends the offsets of entries with the key's hash, newest first, until there are `max_num`.
    pub fn select(&mut self, initial: Vec<i64>, key: &[u16], max_num: i32, begin: i64, end: i64) -> Result<Vec<i64>> {
        let hash = key_hash(key);
        let slot = self.slot_position(hash)?;
        let mut offsets = initial;
        let count = self.header.index_count;
        let Ok(mut entry) = self.read_i32(slot) else { return Ok(offsets) };
        if entry <= 0 || entry > count || count <= 1 {
            return Ok(offsets);
        }
        while (offsets.len() as i64) < i64::from(max_num) {
            let Ok((hash_read, offset, time_diff, previous)) = self.read_entry(entry) else { break };
            if time_diff < 0 {
                break;
            }
            let time = self.header.begin_timestamp.wrapping_add(i64::from(time_diff) * 1000);
            if hash_read == hash && begin <= time && time <= end {
                offsets.push(offset);
            }
            if previous <= 0 || previous > count || previous == entry || time < begin {
                break;
            }
            entry = previous;
        }
        Ok(offsets)
    }

    fn read_entry(&mut self, entry: i32) -> Result<(i32, i64, i32, i32)> {
        let at = self.entry_position(entry);
        Ok((
            self.read_i32(at)?,
            self.read_i64(at.wrapping_add(4))?,
            self.read_i32(at.wrapping_add(12))?,
            self.read_i32(at.wrapping_add(16))?,
        ))
    }

    /// Whether the window covers the file, or begins or ends within it.
    pub fn time_matched(&self, begin: i64, end: i64) -> bool {
        let (first, last) = (self.header.begin_timestamp, self.header.end_timestamp);
        (begin < first && end > last) || (first <= begin && begin <= last) || (first <= end && end <= last)
    }

    /// Whether the next put would be refused.
    pub fn full(&self) -> bool {
        self.header.index_count >= self.capacity
    }

    /// Writes the header in memory to the file.
    pub fn flush(&mut self) -> Result<()> {
        let header = self.header;
        self.write(0, &header.begin_timestamp.to_be_bytes())?;
        self.write(8, &header.end_timestamp.to_be_bytes())?;
        self.write(16, &header.begin_phy_offset.to_be_bytes())?;
        self.write(24, &header.end_phy_offset.to_be_bytes())?;
        self.write(32, &header.hash_slot_count.to_be_bytes())?;
        self.write(36, &header.index_count.to_be_bytes())
    }

    fn slot_position(&self, hash: i32) -> Result<i32> {
        let slot = hash.checked_rem(self.slots).ok_or_else(|| invalid("no slots"))?;
        Ok(HEADER_SIZE.wrapping_add(slot.wrapping_mul(SLOT_SIZE)))
    }

    fn entry_position(&self, entry: i32) -> i32 {
        let entries = HEADER_SIZE.wrapping_add(self.slots.wrapping_mul(SLOT_SIZE));
        entries.wrapping_add(entry.wrapping_mul(ENTRY_SIZE))
    }

    fn set_begin_timestamp(&mut self, value: i64) -> Result<()> {
        self.header.begin_timestamp = value;
        self.write(0, &value.to_be_bytes())
    }

    fn set_end_timestamp(&mut self, value: i64) -> Result<()> {
        self.header.end_timestamp = value;
        self.write(8, &value.to_be_bytes())
    }

    fn set_begin_phy_offset(&mut self, value: i64) -> Result<()> {
        self.header.begin_phy_offset = value;
        self.write(16, &value.to_be_bytes())
    }

    fn set_end_phy_offset(&mut self, value: i64) -> Result<()> {
        self.header.end_phy_offset = value;
        self.write(24, &value.to_be_bytes())
    }

    fn seek(&mut self, position: i32, length: usize) -> Result<()> {
        let end = i64::from(position) + length as i64;
        if position < 0 || end > i64::from(self.size) {
            return Err(invalid(format!("byte {position} is outside the file")));
        }
        self.file.seek(SeekFrom::Start(position as u64)).map(|_| ())
    }

    fn read<const N: usize>(&mut self, position: i32) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.seek(position, N)?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn read_i32(&mut self, position: i32) -> Result<i32> {
        self.read(position).map(i32::from_be_bytes)
    }

    fn read_i64(&mut self, position: i32) -> Result<i64> {
        self.read(position).map(i64::from_be_bytes)
    }

    fn write(&mut self, position: i32, bytes: &[u8]) -> Result<()> {
        self.seek(position, bytes.len())?;
        self.file.write_all(bytes)
    }
}
