//! Indexes of a card's tables.

/// Allocates the indexes of a table, each as long as possible after its last use, so that late
/// reports of the card about an old owner are not taken for the new one's.
#[derive(Debug)]
pub(crate) struct IndexPool {
    used: Vec<bool>,
    next: usize,
}

impl IndexPool {
    pub fn new(entries: u32) -> Self {
        Self { used: vec![false; entries as usize], next: 0 }
    }

    /// Takes a free index.
    pub fn take(&mut self) -> Option<u32> {
        let n = self.used.len();
        let index = (self.next..self.next + n).map(|i| i % n).find(|i| !self.used[*i])?;
        self.used[index] = true;
        self.next = index + 1;
        Some(index as u32)
    }

    /// Gives an index back.
    pub fn put(&mut self, index: u32) {
        debug_assert!(self.used[index as usize], "index {index} was not taken");
        self.used[index as usize] = false;
    }

    /// Number of indexes, free or in use.
    pub fn limit(&self) -> u32 {
        self.used.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_comes_back_after_all_others() {
        let mut pool = IndexPool::new(3);
        assert_eq!(pool.take(), Some(0));
        pool.put(0);
        assert_eq!(
            [pool.take(), pool.take(), pool.take(), pool.take()],
            [Some(1), Some(2), Some(0), None]
        );
        pool.put(1);
        assert_eq!(pool.take(), Some(1));
    }
}
