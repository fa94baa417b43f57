//! Builds all mutants of the library into one, each behind a number, and runs the tests with each.
//!
//! | argument | says |
//! | --- | --- |
//! | `--out FILE` | where the results go: a line of JSON for each mutant; `mutants.jsonl` below the target folder otherwise |
//! | `--quick SECONDS` | tests that take longer are left out; 0.6 otherwise |
//! | `--again FILE` | only the mutants that are missed by those results |
//! | `--programs NAMES` | only the tests of those programs, such as `corpus,v2`; all otherwise |
//! | `-- ARGUMENTS` | which mutants: arguments of `cargo mutants --list`, such as `--in-diff FILE`, or `--no-config -f FILE` |

mod campaign;
mod compile;
mod edits;
mod list;
mod mutate;
mod outcome;
mod rewrite;
mod scratch;
mod test;

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use campaign::Campaign;
use mutate::Mutants;
use outcome::{Line, Outcome};
use scratch::Scratch;
use test::Test;

/// What is asked for.
struct Asked {
    out: PathBuf,
    quick: f64,
    again: Option<PathBuf>,
    programs: Option<String>,
    which: Vec<String>,
}

impl Asked {
    fn parse(target: &Path) -> Result<Self> {
        let out = target.join("mutants.jsonl");
        let mut asked = Self { out, quick: 0.6, again: None, programs: None, which: Vec::new() };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                asked.which.extend(arguments.by_ref());
                break;
            }
            let value = arguments.next().with_context(|| format!("{argument}: nothing follows"))?;
            match argument.as_str() {
                "--out" => asked.out = value.into(),
                "--again" => asked.again = Some(value.into()),
                "--programs" => asked.programs = Some(value),
                "--quick" => asked.quick = value.parse()?,
                _ => bail!("{argument}: see the head of lab/mutants/src/main.rs"),
            }
        }
        Ok(asked)
    }

    /// Whether the tests of a program are to be run.
    fn runs(&self, program: &str) -> bool {
        self.programs.as_ref().is_none_or(|names| names.split(',').any(|name| name == program))
    }
}

fn main() -> Result<()> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let target = zten_testkit::process::target_folder()?;
    let asked = Asked::parse(&target)?;
    let mut list = list::list(&repository, &asked.which)?;
    if let Some(before) = &asked.again {
        let missed = missed(before)?;
        list.retain(|mutant| missed.contains(&mutant.name));
    }
    eprintln!("{} mutants", list.len());

    let scratch = Scratch::copy(&repository, &target.join("mutated"))?;
    let mut mutants = Mutants::new(&scratch, &list);
    let programs = mutants.build()?;
    let left = mutants.left();
    eprintln!("{} to be run", left.len());

    let mut tests = Vec::new();
    for program in programs.iter().filter(|program| asked.runs(&program.name)) {
        tests.extend(Test::all(program, asked.quick, &target)?);
    }
    eprintln!("{} tests", tests.len());

    let mut results = Results { file: File::create(&asked.out)?, counts: BTreeMap::new() };
    let names: Vec<&str> = list.iter().map(|mutant| mutant.name.as_str()).collect();
    for (number, name) in (0..).zip(&names) {
        if let Some(outcome) = mutants.outcomes.get(&number) {
            results.note(name, *outcome, None)?;
        }
    }
    let mut campaign = Campaign::new(&tests);
    for (number, name) in (0..).zip(&names) {
        if !mutants.outcomes.contains_key(&number) {
            let (outcome, by) = campaign.meet(number)?;
            results.note(name, outcome, by)?;
        }
    }
    print!("{}", results.table(list.len()));
    Ok(())
}

/// The names of the mutants that were missed.
fn missed(results: &Path) -> Result<HashSet<String>> {
    let text = fs::read_to_string(results).with_context(|| results.display().to_string())?;
    let lines = text.lines().map(serde_json::from_str::<Line>);
    let lines: Vec<Line> = lines.collect::<Result<_, _>>()?;
    let missed = lines.into_iter().filter(|line| line.outcome == Outcome::Missed);
    Ok(missed.map(|line| line.mutant).collect())
}

/// What has come of mutants.
struct Results {
    file: File,
    counts: BTreeMap<Outcome, usize>,
}

impl Results {
    fn note(&mut self, mutant: &str, outcome: Outcome, by: Option<String>) -> Result<()> {
        if outcome == Outcome::Missed {
            eprintln!("missed: {mutant}");
        }
        *self.counts.entry(outcome).or_default() += 1;
        let line = Line { mutant: mutant.to_owned(), outcome, by };
        writeln!(self.file, "{}", serde_json::to_string(&line)?)?;
        Ok(())
    }

    fn table(&self, listed: usize) -> String {
        let count = |outcome| self.counts.get(&outcome).copied().unwrap_or_default();
        let rows =
            Outcome::ALL.map(|outcome| format!("| {} | {} |\n", outcome.text(), count(outcome)));
        format!("| listed | {listed} |\n{}", rows.concat())
    }
}
