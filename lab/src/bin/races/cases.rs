//! The races, and the claims that their figures are to support.

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
    /// True if everything is only run once, to see that it works.
    pub(crate) quick: bool,
}

/// One table and its chart.
pub(crate) struct Group {
    pub(crate) title: String,
    /// A description of the files and of the work.
    pub(crate) about: String,
    /// The measure of one unit, such as `ns` where the unit is `object`.
    pub(crate) measure: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) races: Vec<Race>,
    pub(crate) claims: Vec<Claim>,
}

/// Contestants that took turns; the first is the subject.
pub(crate) struct Race {
    pub(crate) name: String,
    pub(crate) units: f64,
    /// Bytes of manifest, where heap is held against them.
    pub(crate) manifest: Option<u64>,
    pub(crate) times: Vec<Times>,
}

/// A figure that is to be reached.
pub(crate) struct Claim {
    pub(crate) what: String,
    pub(crate) figure: f64,
    pub(crate) wanted: Wanted,
}

/// The bound that a figure has to meet.
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

/// All groups, by what they are called.
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

    /// Returns the amount to measure: `full`, or `quick` where it is only to be seen that it runs.
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

    /// Contestants of this program, over the same files.
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
