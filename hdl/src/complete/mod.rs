//! Acknowledgements and sent packets to completions.

pub mod completion;
