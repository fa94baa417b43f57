//! Compares `zten` with the reference implementation of zTensor: each reads what the other writes, element by element.
//!
//! ```text
//! interop files COUNT SEED       files that either writes and appends to, and both read
//! interop second COUNT SEED      the same in generation 2
//! interop emit FOLDER COUNT SEED files for other readers, and their content
//! interop shards FOLDER COUNT SEED files in generation 2 with shards, for other readers
//! interop disagreements          the known disagreements
//! ```

mod content;
mod disagreements;
mod elements;
mod emit;
mod files;
mod generate;
mod ours;
mod second;
mod theirs;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["files", count, seed] => files::run(count.parse()?, seed.parse()?),
        ["second", count, seed] => second::run(count.parse()?, seed.parse()?),
        ["emit", folder, count, seed] => emit::run(folder.as_ref(), count.parse()?, seed.parse()?),
        ["shards", folder, count, seed] => {
            second::emit(folder.as_ref(), count.parse()?, seed.parse()?)
        }
        ["disagreements"] => disagreements::run(),
        _ => bail!(
            "usage: interop files|second COUNT SEED | emit|shards FOLDER COUNT SEED | disagreements"
        ),
    }
}
