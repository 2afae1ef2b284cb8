//! Tests an implementation of RocketMQ's index files with what the real RocketMQ 4.9.3 answered and wrote.
//! [`check`] panics if a case fails; its message names the clause and the first byte that differs.

mod operations;

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Why an operation has no result.
#[derive(Debug)]
pub enum Failure {
    /// There is no such operation, or not with this geometry: the case is skipped.
    NotOffered,
    /// The operation ends in an error that the implementation reports; some cases expect that.
    Error(String),
}

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Error(error.to_string())
    }
}

pub type Answer<T> = Result<T, Failure>;

/// The six fields of an index file's header; times in ms since the epoch.
pub struct Header {
    pub begin_timestamp: i64,
    pub end_timestamp: i64,
    pub begin_phy_offset: i64,
    pub end_phy_offset: i64,
    pub hash_slot_count: i32,
    pub index_count: i32,
}

/// How to open a file. Each seed (`end_phy_offset`, `end_timestamp`) counts only if it is above 0.
#[derive(Clone, Copy)]
pub struct Open {
    pub hash_slot_num: i32,
    pub index_num: i32,
    pub end_phy_offset: i64,
    pub end_timestamp: i64,
    /// Whether to read the header.
    pub load: bool,
}

/// The implementation that is tested: a new value for each case, with one file open at a time. Implement what you have.
pub trait IndexFile {
    /// The key hash (IDX-HASH-1).
    fn key_hash(&mut self, _key: &str) -> Answer<i32> {
        Err(Failure::NotOffered)
    }
    /// Makes or opens a file.
    fn open(&mut self, _path: &Path, _how: Open) -> Answer<()> {
        Err(Failure::NotOffered)
    }
    /// Adds an entry; false if it is refused.
    fn put(&mut self, _key: &str, _phy_offset: i64, _store_timestamp: i64) -> Answer<bool> {
        Err(Failure::NotOffered)
    }
    /// `offsets`, then the physical offsets found in order, until there are `max_num`; the window is (begin, end) in ms.
    fn select(&mut self, _offsets: Vec<i64>, _key: &str, _max_num: i32, _window: (i64, i64)) -> Answer<Vec<i64>> {
        Err(Failure::NotOffered)
    }
    /// Whether the window, in ms, matches the file.
    fn time_matched(&mut self, _begin: i64, _end: i64) -> Answer<bool> {
        Err(Failure::NotOffered)
    }
    /// The header in memory.
    fn header(&mut self) -> Answer<Header> {
        Err(Failure::NotOffered)
    }
    /// Whether the file is full.
    fn full(&mut self) -> Answer<bool> {
        Err(Failure::NotOffered)
    }
    /// Writes the header in memory to the file.
    fn flush(&mut self) -> Answer<()> {
        Err(Failure::NotOffered)
    }
    /// Releases all files without a flush. Also called after each case, whatever is open.
    fn close(&mut self) -> Answer<()> {
        Ok(())
    }
    /// Any other operation, such as `queue.put`, in a directory; README.md lists them.
    fn other(&mut self, _directory: &Path, _operation: &Value) -> Answer<Value> {
        Err(Failure::NotOffered)
    }
}

/// Runs every case on a new implementation, and prints how many passed and were skipped. Expected is what 4.9.3 does, or the
/// release in the environment variable `ROCKETMQ_RELEASE`.
///
/// # Panics
///
/// If a case fails, or none could be run.
pub fn check<T: IndexFile>(create: impl Fn() -> T) {
    let all: Value = serde_json::from_str(include_str!("../cases.json")).expect("cases.json");
    let release = std::env::var("ROCKETMQ_RELEASE").unwrap_or_else(|_| "4.9.3".into());
    let known = list(&all["releases"]);
    assert!(known.iter().any(|one| *one == release.as_str()), "ROCKETMQ_RELEASE {release}: expected one of {known:?}");
    let scratch = Scratch::new();
    let (mut passed, mut skipped, mut failures) = (0, 0, vec![]);
    for (number, case) in list(&all["cases"]).iter().enumerate() {
        let expected = case["releases"].get(&release).unwrap_or(case);
        match guarded(|| check_case(case, expected, &mut create(), &scratch.0.join(number.to_string()))) {
            Ok(differences) if differences.is_empty() => passed += 1,
            Ok(differences) => failures.push(message(case, &all["clauses"], &differences)),
            Err(Failure::NotOffered) => skipped += 1,
            Err(Failure::Error(error)) => failures.push(message(case, &all["clauses"], &[error])),
        }
    }
    let counts = format!("{passed} cases passed, {} failed, {skipped} skipped (not offered)", failures.len());
    assert!(failures.is_empty(), "{}\n{counts}", failures.join("\n"));
    assert!(passed > 0, "no case ran: the implementation offers no operation");
    println!("{counts}");
}

/// Turns a panic of the implementation into an error.
fn guarded<T>(action: impl FnOnce() -> Answer<T>) -> Answer<T> {
    catch_unwind(AssertUnwindSafe(action)).unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<&str>().map(|text| (*text).to_string());
        let text = text.or_else(|| cause.downcast_ref::<String>().cloned());
        Err(Failure::Error(format!("panic: {}", text.unwrap_or_default())))
    })
}

/// A directory that is removed with everything in it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        let nanos = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
        Scratch(std::env::temp_dir().join(format!("rocketmq-vectors-{}-{nanos}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A name in a case that somebody else wrote must not lead out of the case's directory.
fn check_name(name: &str) -> Answer<()> {
    let plain = |part: &str| !part.is_empty() && part != ".." && !part.contains(['\\', ':']);
    if name.split('/').all(plain) {
        return Ok(());
    }
    Err(Failure::Error(format!("file {name} is not a relative path without ..")))
}

fn check_case(
    case: &Value,
    expected: &Value,
    implementation: &mut impl IndexFile,
    directory: &Path,
) -> Answer<Vec<String>> {
    let opened = list(&case["ops"]).iter().filter_map(|op| op["file"].as_str());
    for name in fields(&case["files"]).keys().map(String::as_str).chain(opened) {
        check_name(name)?;
    }
    fs::create_dir_all(directory)?;
    for (name, file) in fields(&case["files"]) {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        fs::write(path, content(file))?;
    }
    let answered = answers(case, expected, implementation, directory);
    let closed = guarded(|| implementation.close());
    let mut differences = answered?;
    if let Err(Failure::Error(error)) = closed {
        differences.push(format!("close: {error}"));
    }
    compare_files(case, expected, directory, &mut differences)?;
    Ok(differences)
}

fn answers(
    case: &Value,
    expected: &Value,
    implementation: &mut impl IndexFile,
    directory: &Path,
) -> Answer<Vec<String>> {
    let mut differences = vec![];
    let mut operations = operations::Operations::new(implementation, directory);
    for (i, (op, expected)) in list(&case["ops"]).iter().zip(list(&expected["results"])).enumerate() {
        let place = format!("operation {i}, {}", text(&op["op"]));
        let answered = guarded(|| {
            Ok(match operations.run(op) {
                Err(Failure::Error(error)) => serde_json::json!({ "rejected": error }),
                other => other?,
            })
        });
        let actual = match answered {
            Err(Failure::Error(panic)) => {
                differences.push(format!("{place}: {panic}"));
                return Ok(differences);
            }
            other => other?,
        };
        if expected["rejected"] != Value::Null || actual["rejected"] != Value::Null {
            if expected["rejected"].is_null() != actual["rejected"].is_null() {
                differences.push(format!("{place}: expected {expected}, actual {actual}"));
            }
            continue;
        }
        for (field, value) in fields(expected) {
            if *value != actual[field] {
                differences.push(format!("{place}: {field}: expected {value}, actual {}", actual[field]));
            }
        }
    }
    Ok(differences)
}

/// Files that the clock has named are `index/new-1` and so on in the order of their names.
fn compare_files(
    case: &Value,
    expected: &Value,
    directory: &Path,
    differences: &mut Vec<String>,
) -> Answer<()> {
    let mut left = BTreeMap::new();
    collect(directory, "", &mut left)?;
    let builds = list(&case["ops"]).iter().any(|op| op["op"] == "service.build");
    let mut made = 0;
    let mut expected = fields(&expected["left"]).clone();
    for (name, actual) in left {
        let clock = name.strip_prefix("index/").is_some_and(|n| n.len() == 17 && n.bytes().all(|b| b.is_ascii_digit()));
        let mut known = name.clone();
        if builds && clock && case["files"].get(&name).is_none() {
            made += 1;
            known = format!("index/new-{made}");
        }
        match expected.remove(&known) {
            None => differences.push(format!("file {known}: expected none")),
            Some(file) => differences.extend(difference(&known, &content(&file), &actual)),
        }
    }
    differences.extend(expected.keys().map(|name| format!("file {name}: missing")));
    Ok(())
}

fn difference(name: &str, expected: &[u8], actual: &[u8]) -> Option<String> {
    match expected.iter().zip(actual).position(|(one, other)| one != other) {
        Some(at) => Some(format!("file {name}, byte {at}: expected {:02x}, actual {:02x}", expected[at], actual[at])),
        None if expected.len() == actual.len() => None,
        None => Some(format!("file {name}: expected {} bytes, actual {}", expected.len(), actual.len())),
    }
}

fn collect(directory: &Path, prefix: &str, found: &mut BTreeMap<String, Vec<u8>>) -> Answer<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), found)?;
        } else {
            found.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(())
}

/// The bytes of a file: runs in hexadecimal, everything else 0.
fn content(file: &Value) -> Vec<u8> {
    let mut data = vec![0; file["length"].as_u64().unwrap_or(0) as usize];
    for run in list(&file["runs"]) {
        let start = run[0].as_u64().unwrap_or(0) as usize;
        for (i, digits) in text(&run[1]).as_bytes().chunks(2).enumerate() {
            let digits = std::str::from_utf8(digits).expect("hexadecimal");
            data[start + i] = u8::from_str_radix(digits, 16).expect("hexadecimal");
        }
    }
    data
}

fn message(case: &Value, clauses: &Value, differences: &[String]) -> String {
    let id = text(&case["id"]);
    let clause = id.split('/').next().unwrap_or(id);
    let rule = &clauses[clause];
    let shown = differences[..differences.len().min(5)].join("\n  ");
    let (level, meaning) = (text(&rule["level"]), text(&rule["text"]));
    format!("{id} breaks {clause} ({level}): {meaning}\n  {shown}\n  {}", text(&case["description"]))
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn fields(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}
