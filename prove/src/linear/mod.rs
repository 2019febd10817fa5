//! Equality of linear circuits, by their matrices.
//!
//! A CRC is a sum, modulo 2, of some of its data's bits. SAT solvers are bad at such sums; but two of
//! them are equal exactly if they have the same summands. So a block's netlist is evaluated with every
//! signal as the set of the variables that it is the sum of, and a constant. That is exact, and says
//! something of all values of the variables at once. What is no such sum, as an AND of two variables or
//! a register of which nothing is known, is *unknown*, which equals nothing.

mod crcs;
mod netlist;

use std::{fs, path::Path};

pub use crcs::all;
pub use netlist::{Bit, Netlist, State};

use crate::{
    design::Design,
    property::Mutant,
    tools::{self, ToolError},
};

/// A claim about a block that is linear in its data.
#[derive(Clone, Debug)]
pub struct Linear {
    /// Name of the block.
    pub block: String,
    /// Name of the claim, unique in its block.
    pub name: String,
    /// The claim as text.
    pub claim: String,
    /// Verilog of the block.
    pub design: Design,
    /// Checks a netlist of the block; the error describes the fault.
    pub check: fn(&Netlist) -> Result<(), String>,
    /// Changes of the block for which the check fails.
    pub mutants: Vec<Mutant>,
}

impl Linear {
    /// Names of block and claim.
    pub fn title(&self) -> String {
        format!("{}: {}", self.block, self.name)
    }

    /// Checks the block, or a mutant. Returns the description of the fault, if there is one.
    ///
    /// # Errors
    /// yosys is missing or refuses the block, or the mutant's change does not fit it.
    pub fn decide(
        &self,
        mutant: Option<&Mutant>,
        folder: &Path,
    ) -> Result<Result<(), String>, ToolError> {
        let design = match mutant {
            Some(m) => &self.design.with(&m.module, &m.from, &m.to)?,
            None => &self.design,
        };
        let file = |path: &Path| {
            let path = path.to_path_buf();
            |source| ToolError::File { path, source }
        };
        fs::create_dir_all(folder).map_err(file(folder))?;
        let (model, netlist) = (folder.join("model.v"), folder.join("netlist.json"));
        fs::write(&model, &design.verilog).map_err(file(&model))?;
        let script = format!(
            "read_verilog model.v; hierarchy -check -top {}; proc; flatten; opt -fast; dffunmap; techmap; opt_expr; opt_clean; \
             write_json netlist.json",
            design.top
        );
        tools::run("yosys", &["-q", "-p", &script], folder)?;
        let text = fs::read_to_string(&netlist).map_err(file(&netlist))?;
        let failed = |output| ToolError::Failed {
            program: "yosys".to_owned(),
            folder: folder.to_path_buf(),
            output,
        };
        let netlist = Netlist::read(&text, &design.top).map_err(failed)?;
        Ok((self.check)(&netlist))
    }
}
