//! The races, and the claims that their figures must support.

mod content;
mod instructions;
mod open;
mod wasm;
mod write;

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::inputs::Inputs;
use crate::programs::Programs;
use crate::race::{Contestant, Times, race};

/// The inputs and programs that all races share.
pub(crate) struct Course {
    pub(crate) inputs: Inputs,
    pub(crate) programs: Programs,
    /// True if everything runs only a few times on small inputs, to see that it works.
    pub(crate) quick: bool,
}

/// One table and its chart.
pub(crate) struct Group {
    pub(crate) title: String,
    /// A description of the files and the work.
    pub(crate) about: String,
    /// The measure of a unit, such as `ns` for an object.
    pub(crate) measure: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) races: Vec<Race>,
    pub(crate) claims: Vec<Claim>,
}

/// A race between contestants that take turns. The first contestant is the one that claims are about.
pub(crate) struct Race {
    pub(crate) name: String,
    pub(crate) units: f64,
    /// The size of the manifest in bytes, if the heap is compared with it.
    pub(crate) manifest: Option<u64>,
    pub(crate) times: Vec<Times>,
}

/// A claim of the documents: a measured figure, and the bound that it must keep.
pub(crate) struct Claim {
    pub(crate) what: String,
    pub(crate) figure: f64,
    pub(crate) wanted: Wanted,
}

/// The bound on a figure.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    AtLeast(f64),
    AtMost(f64),
}

impl Claim {
    pub(crate) fn holds(&self) -> bool {
        match self.wanted {
            Wanted::AtLeast(wanted) => self.figure >= wanted,
            Wanted::AtMost(wanted) => self.figure <= wanted,
        }
    }
}

type Run = fn(&Course) -> Result<Group>;

/// All groups, by their names.
pub(crate) const ALL: &[(&str, Run)] = &[
    ("open", open::open),
    ("instructions", instructions::opening),
    ("wasm", wasm::wasm),
    ("hostile", open::hostile),
    ("look-up", open::look_up),
    ("views", content::views),
    ("zstd", content::zstd),
    ("frames", content::frames),
    ("digests", content::digests),
    ("whole", content::whole),
    ("write", write::write),
    ("small", write::small),
    ("canonical", write::canonical),
    ("counted", instructions::instructions),
    ("misses", instructions::misses),
];

impl Course {
    pub(crate) fn new(quick: bool) -> Result<Self> {
        Ok(Self { inputs: Inputs::new()?, programs: Programs::build()?, quick })
    }

    /// Returns the amount to measure: `full`, or `quick` if the run only shows that everything works.
    pub(crate) fn amount(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    fn times(&self, rounds: usize, contestants: Vec<Contestant>) -> Result<Vec<Times>> {
        race(contestants, self.amount(rounds, 2))
    }

    /// Runs a race in which each contestant processes `units` units.
    fn race(
        &self,
        name: impl Into<String>,
        units: usize,
        rounds: usize,
        contestants: Vec<Contestant>,
    ) -> Result<Race> {
        let times = self.times(rounds, contestants)?;
        Ok(Race { name: name.into(), units: units as f64, manifest: None, times })
    }

    /// Returns contestants of this program that use the same files.
    fn workers(&self, case: &str, readers: &[&str], files: &[&Path]) -> Result<Vec<Contestant>> {
        readers.iter().map(|reader| self.programs.worker(reader, case, files)).collect()
    }
}

impl Race {
    fn times(&self, name: &str) -> Result<&Times> {
        let found = self.times.iter().find(|times| times.name == name);
        found.with_context(|| format!("{name} did not race"))
    }

    /// Returns how many times as long one contestant took as another.
    fn ratio(&self, one: &str, other: &str) -> Result<f64> {
        Ok(self.times(one)?.over(self.times(other)?))
    }
}

impl Group {
    fn claim(&mut self, what: impl Into<String>, figure: f64, wanted: Wanted) {
        self.claims.push(Claim { what: what.into(), figure, wanted });
    }
}
