//! docs/results.json: the figures that were measured last, which later ones are compared with.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};

use crate::experiment::{Experiment, Figure, Target};

/// Share by which a figure may become worse.
const SLACK: f64 = 0.1;

/// True if a value is worse than a recorded one by more than a tenth; of a time, less is better.
pub fn is_worse(value: f64, recorded: f64, time: bool) -> bool {
    match time {
        true => value > recorded * (1.0 + SLACK),
        false => value < recorded * (1.0 - SLACK),
    }
}

/// Figures by the names of their experiments: Gb/s, million packets a second, or cycles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record(BTreeMap<String, f64>);

impl Record {
    /// The record of these figures; experiments that failed have none.
    pub fn of<'a>(ran: impl IntoIterator<Item = (&'a Experiment, &'a Figure)>) -> Self {
        let rounded = |value: f64| (value * 100.0).round() / 100.0;
        let entry = |(experiment, figure): (&Experiment, &Figure)| {
            (experiment.id.clone(), rounded(figure.value))
        };
        Self(ran.into_iter().map(entry).collect())
    }

    /// Reads what is recorded.
    ///
    /// # Errors
    /// The file cannot be read, or is no record.
    pub fn read(file: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))
    }

    /// The record as a file.
    ///
    /// # Panics
    /// Never: numbers and names can be written.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("names and numbers") + "\n"
    }

    /// The complaints about a figure: it misses its target, is worse than the recorded one by more than a
    /// tenth, or not recorded.
    pub fn complaints(&self, experiment: &Experiment, figure: &Figure) -> Vec<String> {
        let Figure { measured, target, met, .. } = figure;
        let missed =
            (!met).then(|| format!("{}: {measured}, the target is {target}", experiment.id));
        missed.into_iter().chain(self.worse(experiment, figure)).collect()
    }

    /// A complaint if a figure is worse than the recorded one by more than a tenth, or not recorded.
    pub fn worse(&self, experiment: &Experiment, figure: &Figure) -> Option<String> {
        let Experiment { id, target, .. } = experiment;
        let Some(&then) = self.0.get(id) else {
            return Some(format!("{id}: {} is not recorded", figure.measured));
        };
        let time = matches!(target, Target::Latency { .. } | Target::RoundTrips(_));
        is_worse(figure.value, then, time)
            .then(|| format!("{id}: {}, {then} is recorded", figure.measured))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalogue, experiment::Fetched, run_all};
    use std::collections::BTreeSet;

    fn recorded() -> Record {
        Record::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results.json")).unwrap()
    }

    #[test]
    fn a_tenth_worse_is_told() {
        let all = catalogue::all();
        let find = |id: &str| all.iter().find(|experiment| experiment.id == id).unwrap();
        for (id, better, worse) in [("oltp", 91.0, 89.0), ("latency", 109.0, 111.0)] {
            let record = Record([(id.to_owned(), 100.0)].into());
            let figure = |value| Figure { value, met: true, ..Figure::default() };
            assert_eq!(record.worse(find(id), &figure(better)), None);
            assert!(record.worse(find(id), &figure(worse)).unwrap().contains("100 is recorded"));
            assert!(Record::default().worse(find(id), &figure(better)).is_some());
            // The target counts, even if a worse value is recorded.
            assert_eq!(record.complaints(find(id), &figure(better)), [""; 0]);
            assert_eq!(record.complaints(find(id), &figure(worse)).len(), 1);
            let missed = Figure { met: false, ..figure(100.0) };
            let found = record.complaints(find(id), &missed);
            assert!(found.len() == 1 && found[0].contains("the target is"), "{found:?}");
        }
    }

    #[test]
    fn every_experiment_is_recorded() {
        let record = recorded();
        let ids: BTreeSet<_> =
            catalogue::all().into_iter().map(|experiment| experiment.id).collect();
        assert!(ids.iter().eq(record.0.keys()), "{ids:?}, recorded are {record:?}");
    }

    /// The quick form of the report: one experiment of each kind, none of which needs calibration.
    #[test]
    fn figures_are_not_worse_than_recorded() {
        let quick = [
            "contiguous-registers",
            "shuffle-2",
            "shuffle-64-partitioned",
            "oltp",
            "bitmap-random-90",
            "pointers-256",
            "latency",
            "rate-1-together",
        ];
        let mut experiments = catalogue::all();
        experiments.retain(|experiment| quick.contains(&experiment.id.as_str()));
        assert_eq!(experiments.len(), quick.len());
        assert!(experiments.iter().all(|experiment| experiment.fetched == Fetched::Registers));
        let record = recorded();
        let mut worse = Vec::new();
        for (experiment, result) in run_all(experiments, 2, false) {
            match result {
                Ok(figure) => worse.extend(record.worse(&experiment, &figure)),
                Err(error) => worse.push(format!("{}: {error}", experiment.id)),
            }
        }
        assert_eq!(worse, [""; 0]);
    }
}
