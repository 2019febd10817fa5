//! Costs of posting, as criterion measured them (`cargo bench --package libdrdma --bench posting`).

use std::{fs, path::Path};

use serde::Deserialize;

/// Rows that each of the benchmarks posts.
const ROWS: f64 = 65_536.0;
/// How many times cheaper descriptions should be than the other ways.
const TIMES: f64 = 100.0;

/// The part of criterion's `estimates.json` that is used.
#[derive(Deserialize)]
struct Estimates {
    mean: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
    confidence_interval: Interval,
}

#[derive(Deserialize)]
struct Interval {
    lower_bound: f64,
    upper_bound: f64,
}

/// Nanoseconds for a row: the mean, and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Mean of the costs.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Costs of the three ways to post, in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posting {
    /// Cost of described regions: bitmapped ones, in one request.
    pub described: Cost,
    /// Cost of scatter-gather lists, one for each row.
    pub lists: Cost,
    /// Cost of copies into a buffer.
    pub copied: Cost,
}

impl Posting {
    /// Reads the files that criterion left in its folder.
    ///
    /// # Errors
    /// A file is missing, or is not criterion's.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let cost = |name: &str| {
            let path = folder.join("posting").join(name).join("new").join("estimates.json");
            let text = fs::read_to_string(&path);
            let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
            parse(&text).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Self { described: cost("ncr")?, lists: cost("sge_lists")?, copied: cost("copy_out")? })
    }

    /// How many times cheaper descriptions are than the cheaper of the other two.
    pub fn ratio(&self) -> f64 {
        self.lists.mean.min(self.copied.mean) / self.described.mean
    }

    /// The target as text, and whether it was reached.
    pub fn target(&self) -> (String, bool) {
        (format!(">= {TIMES} times cheaper than either"), self.ratio() >= TIMES)
    }
}

fn parse(text: &str) -> serde_json::Result<Cost> {
    let Estimates { mean } = serde_json::from_str(text)?;
    let Interval { lower_bound, upper_bound } = mean.confidence_interval;
    Ok(Cost { mean: mean.point_estimate / ROWS, low: lower_bound / ROWS, high: upper_bound / ROWS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_of_all_rows() {
        let text = r#"{"mean": {"confidence_interval": {"confidence_level": 0.95,
            "lower_bound": 65536.0, "upper_bound": 196608.0}, "point_estimate": 131072.0,
            "standard_error": 1.0}, "median": null}"#;
        assert_eq!(parse(text).unwrap(), Cost { mean: 2.0, low: 1.0, high: 3.0 });
    }

    #[test]
    fn the_cheaper_of_the_others_counts() {
        let cost = |mean| Cost { mean, low: mean, high: mean };
        let posting =
            |copied| Posting { described: cost(0.01), lists: cost(300.0), copied: cost(copied) };
        assert_eq!((posting(5.0).ratio(), posting(5.0).target().1), (500.0, true));
        assert!(!posting(0.5).target().1);
    }
}
