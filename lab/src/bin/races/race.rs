//! A race: contestants take turns, so that other load on the machine affects all alike.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result};

/// A process that does its work for each request.
pub(crate) struct Contestant {
    pub(crate) name: String,
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The largest heap during its work, in bytes.
    pub(crate) heap: u64,
}

impl Contestant {
    /// Starts a program, and waits until it has warmed up and has told how large its heap was.
    pub(crate) fn start<I: AsRef<OsStr>>(
        name: &str,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = I>,
    ) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| name.to_owned())?;
        let ask = child.stdin.take().context("no input")?;
        let answers = BufReader::new(child.stdout.take().context("no output")?);
        let mut own = Self { name: name.to_owned(), child, ask, answers, heap: 0 };
        own.heap = own.answer()?.parse()?;
        Ok(own)
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        line.pop().with_context(|| format!("{} has stopped", self.name))?;
        Ok(line)
    }

    /// Has the contestant take a turn. Returns the duration of its work in nanoseconds, the average if it works several times.
    fn turn(&mut self) -> Result<f64> {
        writeln!(self.ask)?;
        Ok(self.answer()?.parse()?)
    }
}

impl Drop for Contestant {
    fn drop(&mut self) {
        // The process is killed, because it has no state to save.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The figures of a contestant: its heap, and the nanoseconds of each round or one count.
pub(crate) struct Times {
    pub(crate) name: String,
    pub(crate) heap: u64,
    rounds: Vec<f64>,
}

impl Times {
    /// Returns one number, which is the same in every round.
    pub(crate) fn counted(name: &str, count: u64) -> Self {
        Self { name: name.to_owned(), heap: 0, rounds: vec![count as f64] }
    }

    /// Returns the median of the durations in nanoseconds, or the count.
    pub(crate) fn median(&self) -> f64 {
        median(self.rounds.clone())
    }

    /// Returns the ratio of the durations of two contestants: the median of the ratios in each round, in which both had the same
    /// machine.
    pub(crate) fn over(&self, other: &Self) -> f64 {
        median(self.rounds.iter().zip(&other.rounds).map(|(own, other)| own / other).collect())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Has the contestants take `rounds` turns each. In each round another one is first.
pub(crate) fn race(mut contestants: Vec<Contestant>, rounds: usize) -> Result<Vec<Times>> {
    let mut times: Vec<Times> = contestants
        .iter()
        .map(|one| Times { name: one.name.clone(), heap: one.heap, rounds: Vec::new() })
        .collect();
    for round in 0..rounds {
        // The first contestant in a round meets a colder machine, so in each round another one is first.
        let count = contestants.len();
        for turn in 0..count {
            let at = (turn + round) % count;
            let (Some(one), Some(times)) = (contestants.get_mut(at), times.get_mut(at)) else {
                continue;
            };
            times.rounds.push(one.turn()?);
        }
    }
    Ok(times)
}
