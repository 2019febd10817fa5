//! Experiments that cannot be run yet; each is deleted here when it moves to the catalogue.

/// A row of the report without a figure.
#[derive(Clone, Copy, Debug)]
pub struct Missing {
    /// Its name.
    pub id: &'static str,
    /// What it will be.
    pub title: &'static str,
    /// What it is to reach.
    pub target: &'static str,
    /// The experiment of the catalogue that it comes behind.
    pub behind: &'static str,
}

/// All of them.
pub const ALL: &[Missing] = &[Missing {
    id: "shuffle-64-partitioned",
    title: "shuffle, 5 x 4 B, 64 Ki rows, 64 destinations by a partitioned region",
    target: ">= 88.0 Gb/s",
    behind: "shuffle-64",
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn what_is_missing_has_its_place_and_is_not_measured() {
        let all = catalogue::all();
        for row in ALL {
            assert!(all.iter().any(|experiment| experiment.id == row.behind), "{}", row.behind);
            assert!(all.iter().all(|experiment| experiment.id != row.id), "{}", row.id);
        }
    }
}
