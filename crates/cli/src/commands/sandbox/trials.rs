//! `zten sandbox`: tries each forbidden access in a confined process of its own.

mod probes;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::pty::openpty;
use nix::sys::signal::Signal;
use serde_json::{Map, Value, json};
use zten_sandbox::{Budget, Layer, Report, confine};
use zten_worker::Confinement;

use crate::args::Sandbox;
use crate::input::threads;
use crate::json::{self, Schema};
use crate::link::status::Status;
use crate::output::app::App;
use probes::{FAULTS, FILE, KEPT, NOTHING, PROBES, SOMETHING, TERMINAL};

/// The budget of a trial: small, so that exceeding it takes little time.
const BUDGET: Budget =
    Budget { memory: Some(64 << 20), seconds: Some(60), file: Some(1 << 20), descriptors: 0 };

/// The outcome of one trial.
struct Outcome {
    name: &'static str,
    /// The reason of the denial, or `None` if the access was allowed.
    denied: Option<String>,
}

/// Runs all trials, or in a process that was started for one trial, that trial.
pub(crate) fn run(app: &mut App, args: &Sandbox, mode: Confinement) -> io::Result<()> {
    if let Some(name) = &args.trial {
        return trial(app, name, mode);
    }
    let (layers, outcomes) = match all(mode) {
        Ok(all) => all,
        Err(why) => return app.usage(format_args!("an access could not be tried: {why}")),
    };
    if outcomes.iter().any(|outcome| outcome.denied.is_none()) {
        app.set_exit_status(Status::Invalid);
    }
    if args.json { document(app, &layers, &outcomes) } else { lines(app, &layers, &outcomes) }
}

/// Confines this process if `mode` says so, and runs the trial `name` in it. If the sandbox is required and a layer is missing,
/// reports that instead.
fn trial(app: &mut App, name: &str, mode: Confinement) -> io::Result<()> {
    match name {
        NOTHING => return Ok(()),
        SOMETHING => return write!(app.out, "allowed"),
        _ => {}
    }
    // The file is opened before this process is confined, as the files of a command are.
    let kept = File::options().read(true).append(true).open(KEPT)?;
    let report = mode.confines().then(|| confine(&BUDGET, threads::none));
    if let Some(report) = &report
        && mode == Confinement::Require
        && let Err(why) = report.complete()
    {
        return app.usage(format_args!("--require-sandbox: {why}"));
    }
    if name == FIRST {
        return first(app, &kept, report.as_ref());
    }
    match PROBES.iter().chain(FAULTS).find(|probe| probe.name == name) {
        None => app.usage("unknown trial"),
        Some(probe) => match (probe.run)(kept) {
            Ok(()) => write!(app.out, "allowed"),
            Err(error) => write!(app.out, "denied {error}"),
        },
    }
}

/// The trial of permitted accesses. Without it, a process that cannot do anything would pass as well confined.
const FIRST: &str = "read-and-write";

/// Reads and writes the open file, allocates memory, and prints whether each layer of the sandbox is enforced.
fn first(app: &mut App, mut kept: &File, report: Option<&Report>) -> io::Result<()> {
    let mut text = String::new();
    io::Read::read_to_string(&mut io::Read::take(&mut kept, 4), &mut text)?;
    kept.write_all(&vec![b'.'; 1 << 19])?;
    if text != "kept" {
        return app.usage(
            "the file that was opened before the process was confined does not begin with \"kept\"",
        );
    }
    let layers =
        report.map(Report::layers).map(|layers| layers.map(|(_, layer)| layer_status(layer)));
    for (name, (word, why)) in LAYERS.iter().zip(layers.unwrap_or([("off", None); LAYERS.len()])) {
        writeln!(app.out, "{name}\t{word}\t{}", why.unwrap_or_default())?;
    }
    Ok(())
}

/// The names of the sandbox's layers, in the order of [`Report::layers`].
const LAYERS: [&str; 4] = ["privileges", "landlock", "seccomp", "limits"];

/// Returns a word that says whether a layer of the sandbox is enforced, and the reason if the layer is missing.
fn layer_status(layer: &Layer) -> (&'static str, Option<&str>) {
    match layer {
        Layer::Enforced => ("enforced", None),
        Layer::Partly => ("partly", None),
        Layer::Missing(why) => ("missing", Some(why)),
    }
}

/// The layers of the sandbox: for each, the name, the state in a word, and the reason if the layer is missing.
type Layers = Vec<(String, String, String)>;

fn all(mode: Confinement) -> Result<(Layers, Vec<Outcome>), String> {
    let text = match process(FIRST, mode)? {
        (Some(0), text, _) => text,
        (_, text, how) => return Err(format!("{FIRST}: {how} {text}")),
    };
    let layers = text.lines().map(|line| {
        let mut words = line.splitn(3, '\t').map(str::to_owned);
        [(); 3].map(|()| words.next().unwrap_or_default()).into()
    });
    let outcomes = PROBES.iter().map(|probe| {
        let (code, text, how) = process(probe.name, mode)?;
        let denied = match (code, text.strip_prefix("denied ")) {
            (Some(0), None) if text == "allowed" => None,
            (Some(0), Some(why)) => Some(why.to_owned()),
            (None, _) => Some(how),
            _ => return Err(format!("{}: {how} {text}", probe.name)),
        };
        Ok(Outcome { name: probe.name, denied })
    });
    Ok((layers.collect(), outcomes.collect::<Result<_, String>>()?))
}

/// Runs the trial `name` in a process. Returns the exit code (`None` if a signal ended the process), the output, and a
/// description of how the process ended.
fn process(name: &str, mode: Confinement) -> Result<(Option<i32>, String, String), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let write = |name: &str| fs::write(Path::new(folder.path()).join(name), "kept");
    write(KEPT).and_then(|()| write(FILE)).map_err(|error| error.to_string())?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("zten");
    match mode {
        Confinement::Off => command.arg("--no-sandbox"),
        Confinement::Require => command.arg("--require-sandbox"),
        Confinement::Try => &mut command,
    };
    // A terminal with a typed line, which the process must not be able to read.
    let terminal = openpty(None, None).map_err(|error| error.to_string())?;
    let mut keyboard = File::from(terminal.master);
    keyboard.write_all(b"\n").map_err(|error| error.to_string())?;
    let output = command
        .args(["sandbox", "--trial", name])
        .current_dir(&folder)
        .stdin(if name == TERMINAL { terminal.slave.into() } else { Stdio::null() })
        .output()
        .map_err(|error| error.to_string())?;
    let signal = output.status.signal().and_then(|signal| Signal::try_from(signal).ok());
    let how = match signal {
        Some(signal) => signal.as_str().to_owned(),
        None => output.status.to_string(),
    };
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.code(), String::from_utf8_lossy(&text).trim_end().to_owned(), how))
}

fn lines(app: &mut App, layers: &Layers, outcomes: &[Outcome]) -> io::Result<()> {
    for (name, word, why) in layers {
        writeln!(app.out, "{}", format!("{name:<16} {word:<8} {why}").trim_end())?;
    }
    writeln!(app.out)?;
    for Outcome { name, denied } in outcomes {
        match denied {
            Some(how) => writeln!(app.out, "{name:<16} denied   {how}")?,
            None => writeln!(app.out, "{name:<16} ALLOWED")?,
        }
    }
    let denied = outcomes.iter().filter(|outcome| outcome.denied.is_some()).count();
    writeln!(app.out, "\n{denied} of {} accesses denied", outcomes.len())
}

fn document(app: &mut App, layers: &Layers, outcomes: &[Outcome]) -> io::Result<()> {
    let layers: Map<String, Value> =
        layers.iter().map(|(name, word, _)| (name.clone(), json!(word))).collect();
    let trials = outcomes.iter().map(|Outcome { name, denied }| {
        let outcome = if denied.is_some() { "denied" } else { "allowed" };
        json!({ "trial": name, "outcome": outcome, "how": denied })
    });
    let trials: Vec<Value> = trials.collect();
    json::to_line(&mut app.out, &json!({ "schema": Schema, "layers": layers, "trials": trials }))
}
