//! From the list of mutants to programs that hold all of them that compile.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use crate::compile::{Diagnostic, Goal, Program, Said, cargo};
use crate::edits::{Mutated, Number};
use crate::list::Mutant;
use crate::outcome::Outcome;
use crate::rewrite::rewrite;
use crate::scratch::Scratch;

/// The mutants, and the copy that holds them.
pub(crate) struct Mutants<'l> {
    scratch: &'l Scratch,
    /// Each has its place in the list as its number.
    list: &'l [Mutant],
    /// What is known of those that are not run.
    pub(crate) outcomes: BTreeMap<Number, Outcome>,
    files: BTreeMap<&'l str, Mutated>,
}

impl<'l> Mutants<'l> {
    pub(crate) fn new(scratch: &'l Scratch, list: &'l [Mutant]) -> Self {
        Self { scratch, list, outcomes: BTreeMap::new(), files: BTreeMap::new() }
    }

    /// Those of which nothing is known, by their files.
    fn open(&self) -> BTreeMap<&'l str, Vec<(Number, &'l Mutant)>> {
        let mut files: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for (number, mutant) in (0..).zip(self.list) {
            let of_file = files.entry(&mutant.file).or_default();
            if !self.outcomes.contains_key(&number) {
                of_file.push((number, mutant));
            }
        }
        files
    }

    /// The numbers of those of which nothing is known.
    pub(crate) fn left(&self) -> Vec<Number> {
        let numbers = (0..).zip(self.list).map(|(number, _)| number);
        numbers.filter(|number| !self.outcomes.contains_key(number)).collect()
    }

    /// Puts all of them into the copy, each behind its number.
    fn write(&mut self) -> Result<()> {
        for (file, mutants) in self.open() {
            // A function of one opaque type cannot return a value of another.
            let (opaque, mutants): (Vec<_>, Vec<_>) =
                mutants.into_iter().partition(|(_, mutant)| mutant.is_opaque());
            let rewritten = rewrite(&self.scratch.source(file)?, &mutants)?;
            let switched: BTreeSet<Number> = rewritten.switched.into_iter().collect();
            let fixed = mutants.iter().filter(|(number, _)| !switched.contains(number));
            let fixed = fixed.chain(&opaque).map(|(number, _)| (*number, Outcome::Fixed));
            let unviable = rewritten.unviable.iter().map(|number| (*number, Outcome::Unviable));
            self.outcomes.extend(fixed.chain(unviable));
            self.scratch.write(file, rewritten.mutated.text.as_bytes())?;
            self.files.insert(file, rewritten.mutated);
        }
        Ok(())
    }

    /// Builds the programs, without the mutants that do not compile.
    pub(crate) fn build(&mut self) -> Result<Vec<Program>> {
        let checked = self.compile(Goal::Check)?;
        let compiled: BTreeSet<Number> = checked
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.is_question())
            .flat_map(|diagnostic| self.blamed(diagnostic))
            .collect();
        for number in self.left() {
            if !compiled.contains(&number) {
                self.outcomes.insert(number, Outcome::Absent);
            }
        }
        Ok(self.compile(Goal::Tests)?.programs)
    }

    /// Compiles until there is nothing wrong.
    fn compile(&mut self, goal: Goal) -> Result<Said> {
        loop {
            self.write()?;
            let said = cargo(&self.scratch.folder, goal)?;
            if said.success {
                return Ok(said);
            }
            let errors = said.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
            let blamed: BTreeSet<Number> = errors.flat_map(|error| self.blamed(error)).collect();
            eprintln!("{} mutants do not compile", blamed.len());
            if blamed.is_empty() {
                let rendered = said.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
                let rendered: String =
                    rendered.filter_map(|error| error.rendered.clone()).collect();
                bail!("no mutant is to blame:\n{rendered}\n{}", said.text);
            }
            for number in blamed {
                self.outcomes.insert(number, Outcome::Unviable);
            }
        }
    }

    /// The mutants that a diagnostic is about: those whose text it names, the first place first; else
    /// those that it is around.
    fn blamed(&self, diagnostic: &Diagnostic) -> Vec<Number> {
        let (mut first, mut owners, mut within) = (Vec::new(), Vec::new(), Vec::new());
        for span in &diagnostic.spans {
            let Some(file) = self.files.get(span.file_name.as_str()) else { continue };
            let range = span.byte_start..span.byte_end;
            match file.owner(&range) {
                Some(number) if span.is_primary => first.push(number),
                Some(number) => owners.push(number),
                None => within.extend(file.within(&range)),
            }
        }
        [first, owners, within].into_iter().find(|found| !found.is_empty()).unwrap_or_default()
    }
}
