//! Figures 11 to 15 of the D-RDMA paper: what is measured here, beside the values that its text gives.
//!
//! | module | |
//! |---|---|
//! | [`figure_11`] | bandwidth and CPU use of a shuffle |
//! | [`figure_12`] | DMA reads by size |
//! | [`figure_13`] | DMA reads by stride |
//! | [`figure_14`] | DMA reads from the cache |
//! | [`figure_15`] | words that the assembler reads in a cycle |
//! | [`reads`] | DMA reads through the simulated host |
//! | [`picture`] | SVG |

mod figure_11;
mod figure_12;
mod figure_13;
mod figure_14;
mod figure_15;
pub mod picture;
mod reads;

use crate::{Ran, experiment::Experiment, posting::Posting};
use picture::Picture;

/// Measurements that figures are drawn from.
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    /// The experiments that were run, with those that figures need.
    pub ran: &'a [Ran],
    /// Costs of posting, if criterion's figures are there.
    pub posting: &'a Result<Posting, String>,
}

impl Measured<'_> {
    /// Gb/s of payload in an experiment.
    ///
    /// # Errors
    /// The experiment was not run, or failed.
    fn gbps(&self, id: &str) -> Result<f64, String> {
        let found = self.ran.iter().find(|(experiment, _)| experiment.id == id);
        let (_, result) = found.ok_or_else(|| format!("{id} was not run"))?;
        result.as_ref().map(|figure| figure.gbps).map_err(|error| format!("{id}: {error}"))
    }
}

/// A figure that can be drawn.
#[derive(Clone, Copy)]
pub struct Figure {
    /// Name on the command line, and of the file.
    pub id: &'static str,
    /// Returns the experiments that the figure needs.
    pub experiments: fn() -> Vec<Experiment>,
    draw: fn(&Measured) -> Result<Drawing, String>,
}

/// A drawn figure.
pub struct Drawing {
    /// Title of the figure.
    title: &'static str,
    /// Description of what is seen, for readers who cannot see it.
    alt: String,
    /// Text on how it was measured, and how it compares with the paper's.
    text: String,
    /// The picture.
    pub picture: Picture,
    /// The values as a table.
    table: String,
}

/// Every figure.
pub const ALL: [Figure; 5] =
    [figure_11::FIGURE, figure_12::FIGURE, figure_13::FIGURE, figure_14::FIGURE, figure_15::FIGURE];

impl Figure {
    /// Draws the figure.
    ///
    /// # Errors
    /// A measurement that the figure needs is missing.
    pub fn draw(&self, measured: &Measured) -> Result<Drawing, String> {
        (self.draw)(measured)
    }

    /// Path of the file with the picture, in the folder of the documents.
    pub fn file(&self) -> String {
        format!("figures/{}.svg", self.id)
    }

    /// The figure's section in the page of results.
    pub fn section(&self, drawing: &Result<Drawing, String>) -> String {
        let Self { id, .. } = self;
        match drawing {
            Ok(Drawing { title, alt, text, table, .. }) => format!(
                "\n### {title}\n\n![{alt}]({})\n\n{text}\n\n`cargo xtask report --only {id}` makes \
                 it.\n\n<details><summary>Values</summary>\n\n{table}\n</details>\n",
                self.file()
            ),
            Err(error) => format!("\n### {id}\n\nNot drawn: {error}.\n"),
        }
    }
}

/// Text above the figures.
pub const HEAD: &str = "
## The paper's figures 11 to 15

Black crosses and dashed lines are the paper's: only what its text says in numbers or words, since its
plots are pictures. Coloured points are measured here, grey lines computed.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_not_drawn() {
        let posting = Err("no file".to_owned());
        let measured = Measured { ran: &[], posting: &posting };
        for figure in [figure_11::FIGURE, figure_15::FIGURE] {
            let drawing = figure.draw(&measured);
            let error = drawing.as_ref().err().expect("nothing to draw").clone();
            assert!(figure.section(&drawing).contains(&format!("Not drawn: {error}.")));
        }
    }

    #[test]
    fn a_failed_experiment_is_told() {
        let experiment = (figure_11::FIGURE.experiments)().remove(0);
        let id = experiment.id.clone();
        let ran = [(experiment, Err("3 B for 4 B".to_owned()))];
        let posting = Err("no file".to_owned());
        let measured = Measured { ran: &ran, posting: &posting };
        assert_eq!(measured.gbps(&id), Err(format!("{id}: 3 B for 4 B")));
    }
}
