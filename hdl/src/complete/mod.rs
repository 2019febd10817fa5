//! Turns acknowledgements and sent packets into completions.

pub mod completion;
