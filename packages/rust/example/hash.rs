use rocketmq_store_vectors::{check, Answer, IndexFile};

/// Hashes the bytes of the key. It fails, and names IDX-HASH-1. Only key.hash is offered.
struct WrongHash;

impl IndexFile for WrongHash {
    fn key_hash(&mut self, key: &str) -> Answer<i32> {
        let hash = key.bytes().fold(0i32, |hash, one| hash.wrapping_mul(31).wrapping_add(i32::from(one)));
        Ok(hash.wrapping_abs().max(0))
    }
}

#[test]
fn hash() {
    check(|| WrongHash);
}
