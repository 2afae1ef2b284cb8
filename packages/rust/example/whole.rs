//! The whole interface over index_file.rs, which your code replaces.

mod index_file;

use rocketmq_store_vectors::{check, Answer, Failure, Header, IndexFile, Open};
use std::path::Path;

#[derive(Default)]
struct Whole(Option<index_file::IndexFile>);

impl Whole {
    fn file(&mut self) -> Answer<&mut index_file::IndexFile> {
        self.0.as_mut().ok_or(Failure::Error("no index file is open".into()))
    }
}

fn units(key: &str) -> Vec<u16> {
    key.encode_utf16().collect()
}

impl IndexFile for Whole {
    fn key_hash(&mut self, key: &str) -> Answer<i32> {
        Ok(index_file::key_hash(&units(key)))
    }
    fn open(&mut self, path: &Path, how: Open) -> Answer<()> {
        let (geometry, seeds) = ((how.hash_slot_num, how.index_num), (how.end_phy_offset, how.end_timestamp));
        self.0 = Some(index_file::IndexFile::open(path, geometry, seeds, how.load)?);
        Ok(())
    }
    fn put(&mut self, key: &str, phy_offset: i64, store_timestamp: i64) -> Answer<bool> {
        Ok(self.file()?.put(&units(key), phy_offset, store_timestamp)?)
    }
    fn select(&mut self, offsets: Vec<i64>, key: &str, max_num: i32, (begin, end): (i64, i64)) -> Answer<Vec<i64>> {
        Ok(self.file()?.select(offsets, &units(key), max_num, begin, end)?)
    }
    fn time_matched(&mut self, begin: i64, end: i64) -> Answer<bool> {
        Ok(self.file()?.time_matched(begin, end))
    }
    fn header(&mut self) -> Answer<Header> {
        let header = self.file()?.header;
        Ok(Header {
            begin_timestamp: header.begin_timestamp,
            end_timestamp: header.end_timestamp,
            begin_phy_offset: header.begin_phy_offset,
            end_phy_offset: header.end_phy_offset,
            hash_slot_count: header.hash_slot_count,
            index_count: header.index_count,
        })
    }
    fn full(&mut self) -> Answer<bool> {
        Ok(self.file()?.full())
    }
    fn flush(&mut self) -> Answer<()> {
        Ok(self.file()?.flush()?)
    }
    fn close(&mut self) -> Answer<()> {
        self.0 = None;
        Ok(())
    }
}

#[test]
fn whole() {
    check(Whole::default);
}
