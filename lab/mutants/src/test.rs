//! The tests, one function at a time.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::compile::Program;
use crate::edits::Number;

/// Memory that a test may have, in KiB.
const MEMORY: u64 = 4 << 20;

/// What a program may take to say which tests it has: one that has a `main` of its own begins to work.
const LISTING: u64 = 5;

/// A test.
#[derive(Debug)]
pub(crate) struct Test {
    program: Program,
    /// The function; none where the program is one test.
    function: Option<String>,
    /// What it takes without a mutant.
    pub(crate) cost: Duration,
    /// The mutants that it reaches.
    reached: HashSet<Number>,
}

/// Seconds that a test may take while what it reaches is written down.
const WATCHED: u64 = 3600;

/// How a test ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum End {
    Passed,
    Failed,
    /// It was stopped.
    Late,
}

impl Test {
    /// The tests of a program that pass within so many seconds, with what they cost and reach.
    pub(crate) fn all(program: &Program, quick: f64, folder: &Path) -> Result<Vec<Self>> {
        let limit = Duration::try_from_secs_f64(quick)?.as_secs() + 1;
        let mut tests = Vec::new();
        for function in functions(program)? {
            let (program, reached) = (program.clone(), HashSet::new());
            let mut test = Self { program, function, cost: Duration::ZERO, reached };
            let start = Instant::now();
            let end = test.start(limit, None, None)?;
            test.cost = start.elapsed();
            if end == End::Failed {
                eprintln!("left out, as it fails without a mutant: {}", test.name());
                continue;
            }
            if end == End::Late || test.cost.as_secs_f64() > quick {
                eprintln!("left out, as it takes {:.1?}: {}", test.cost, test.name());
                continue;
            }
            let record = folder.join("reached");
            if record.exists() {
                fs::remove_file(&record)?;
            }
            let end = test.start(WATCHED, None, Some(&record))?;
            ensure!(end == End::Passed, "{} does not pass while it is watched", test.name());
            let bytes = if record.exists() { fs::read(&record)? } else { Vec::new() };
            test.reached =
                bytes.as_chunks().0.iter().map(|it| Number::from_le_bytes(*it)).collect();
            tests.push(test);
        }
        Ok(tests)
    }

    pub(crate) fn name(&self) -> String {
        match &self.function {
            Some(function) => format!("{}::{function}", self.program.name),
            None => self.program.name.clone(),
        }
    }

    pub(crate) fn reaches(&self, number: Number) -> bool {
        self.reached.contains(&number)
    }

    /// Runs it with a mutant.
    pub(crate) fn run(&self, number: Number) -> Result<End> {
        // A mutant takes up to three times as long, or it does not end.
        self.start(self.cost.as_secs() * 3 + 3, Some(number), None)
    }

    fn start(&self, seconds: u64, number: Option<Number>, record: Option<&PathBuf>) -> Result<End> {
        let mut command = limited(&self.program, seconds);
        if let Some(function) = &self.function {
            command.args(["--exact", "--test-threads=1", function]);
        }
        command.env("RUST_BACKTRACE", "0");
        if let Some(number) = number {
            command.env("ZTEN_MUTANT", number.to_string());
        }
        if let Some(record) = record {
            command.env("ZTEN_MUTANTS_REACHED", record);
        }
        let status = command.stdout(Stdio::null()).status()?;
        Ok(match status.code() {
            Some(0) => End::Passed,
            Some(LATE) => End::Late,
            _ => End::Failed,
        })
    }
}

/// What `timeout` ends with when it had to stop a program.
const LATE: i32 = 124;

/// A program within limits of memory and of processor time; or, where it only waits, of ten times as much.
fn limited(program: &Program, seconds: u64) -> Command {
    // The shell says 128 and the number of the signal that ended a program, which is 24 (SIGXCPU) for
    // one that has used up its time.
    let script = format!(
        "ulimit -c 0; ulimit -v {MEMORY}; ulimit -S -t {seconds}; timeout {} \"$0\" \"$@\"; end=$?; \
         [ $end = 152 ] && end={LATE}; exit $end",
        seconds * 10
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).arg(&program.path).current_dir(&program.folder);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// The functions of a program, or that there are none.
fn functions(program: &Program) -> Result<Vec<Option<String>>> {
    let output = limited(program, LISTING).args(["--list", "--format", "terse"]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    if !output.status.success() || lines.any(|line| !line.ends_with(": test")) {
        return Ok(vec![None]);
    }
    let functions = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(functions.map(|function| Some(function.to_owned())).collect())
}
