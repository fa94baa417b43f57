//! Races zten with its peers in one run, and writes `lab/results/benchmarks.md` with its charts.
//!
//! `cargo run --release --manifest-path lab/Cargo.toml --bin races [-- --quick] [GROUP...]`
//!
//! With `--quick`, or with names of groups, it prints the tables and writes nothing.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "measured numbers are rounded for display"
)]

mod cases;
mod chart;
mod contestant;
mod inputs;
mod programs;
mod race;
mod report;
mod workers;

use anyhow::Result;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["worker", reader, case, file @ ..] = &arguments[..] {
        return workers::serve(reader, case, file);
    }
    let quick = arguments.contains(&"--quick");
    let wanted: Vec<&str> = arguments.into_iter().filter(|one| *one != "--quick").collect();
    let course = cases::Course::new(quick)?;
    let mut groups = Vec::new();
    for (name, run) in cases::ALL {
        if wanted.is_empty() || wanted.contains(name) {
            let group = run(&course)?;
            println!("{}", report::group(&group));
            groups.push(group);
        }
    }
    // A quick run only shows that everything works, so its figures are not compared with the claims.
    if !quick {
        println!("{}", report::claims(&groups));
        if wanted.is_empty() {
            report::write(&groups)?;
        }
    }
    Ok(())
}
