//! Identity of a worker: values that must be the same at all workers and where the command runs.

use std::sync::Arc;

use datafusion::{
    DATAFUSION_VERSION,
    arrow::{
        ARROW_VERSION,
        array::{ArrayRef, Int64Array},
    },
    common::hash_utils::create_hashes,
    physical_plan::repartition::REPARTITION_RANDOM_STATE,
};
use serde::{Deserialize, Serialize};

use crate::{Directory, Error, exchange::site::Member};

/// Identity of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// Versions that the worker is built from; see [`version`].
    pub version: String,
    /// The worker's number.
    pub number: usize,
    /// Directory that the worker was given; `None` if it is a thread of the process that asks.
    pub directory: Option<Directory>,
}

impl Identity {
    /// Compares the identity with that of a worker with that number in that cluster.
    ///
    /// # Errors
    /// [`Error::Mismatch`] with the first difference.
    pub fn check(
        &self,
        member: &Member,
        number: usize,
        directory: Option<&Directory>,
    ) -> Result<(), Error> {
        let worker = member.name(number);
        let differs = |(what, theirs, ours): (String, String, String)| Error::Mismatch {
            worker: worker.clone(),
            what,
            theirs,
            ours,
        };
        let (theirs, ours) = (&self.version, version());
        if *theirs != ours {
            return Err(differs(("the version".into(), theirs.clone(), ours)));
        }
        if self.number != number {
            let (theirs, ours) = (self.number.to_string(), number.to_string());
            return Err(differs(("its number".into(), theirs, ours)));
        }
        let (Some(here), Some(there)) = (directory, &self.directory) else { return Ok(()) };
        here.difference(there).map_or(Ok(()), |difference| Err(differs(difference)))
    }
}

/// Versions that this program is built from, and the engine's hash of a number, which partitions of rows depend on.
pub(crate) fn version() -> String {
    let mut hash = [0];
    let probe: [ArrayRef; 1] = [Arc::new(Int64Array::from_iter_values([42]))];
    let hashed = create_hashes(&probe, REPARTITION_RANDOM_STATE.random_state(), &mut hash)
        .map(|hash| hash[0]);
    format!(
        "{} with DataFusion {DATAFUSION_VERSION}, Arrow {ARROW_VERSION}, hash {:016x}",
        env!("CARGO_PKG_VERSION"),
        hashed.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> Directory {
        let worker = r#"{"engine": "10.0.0.1:1", "exchange": "10.0.0.1:2", "wire": "10.0.0.1:1"}"#;
        Directory::parse(&format!(r#"{{"workers": [{worker}]}}"#), "here").unwrap()
    }

    fn identity() -> Identity {
        Identity { version: version(), number: 0, directory: Some(directory()) }
    }

    fn check(identity: &Identity) -> Result<(), String> {
        let member = Member::new("10.0.0.1:1".parse().unwrap(), "10.0.0.1:2".parse().unwrap());
        let checked = identity.check(&member, 0, Some(&directory()));
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn a_worker_of_the_same_build_and_file_fits() {
        assert_eq!(check(&identity()), Ok(()));
        // A thread of the same process has no file.
        assert_eq!(check(&Identity { directory: None, ..identity() }), Ok(()));
    }

    #[test]
    fn what_does_not_fit_is_named_with_both_values() {
        let worker = "worker 0 (http://10.0.0.1:1/) does not fit";
        let other = Identity { version: "0.0.9".into(), ..identity() };
        let expected = format!("{worker}: the version is 0.0.9 there, {} here", version());
        assert_eq!(check(&other), Err(expected));
        let other = Identity { number: 2, ..identity() };
        assert_eq!(check(&other), Err(format!("{worker}: its number is 2 there, 0 here")));

        let with = |change: fn(&mut Directory)| {
            let mut directory = directory();
            change(&mut directory);
            check(&Identity { directory: Some(directory), ..identity() }).unwrap_err()
        };
        assert_eq!(with(|d| d.mtu = 4096), format!("{worker}: mtu is 4096 there, 1024 here"));
        let error = with(|d| d.workers.push(d.workers[0].clone()));
        assert_eq!(error, format!("{worker}: the number of workers is 2 there, 1 here"));
        let error = with(|d| d.workers[0].engine.set_port(9));
        assert!(
            error.starts_with(&format!("{worker}: worker 0 is {{\"engine\":\"10.0.0.1:9\"")),
            "{error}"
        );
        let error = with(|d| d.exchange.budget = 7);
        assert!(error.starts_with(&format!("{worker}: exchange is {{\"budget\":7,")), "{error}");
    }
}
