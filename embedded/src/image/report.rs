//! Prints the output of an image: lines of words, which the host parses.

use core::fmt::Write;

use cortex_m_semihosting::hio::{self, HostStream};

use super::failure::Failure;
use super::network::{DIGITS, Logits};
use super::{end, memory};

/// Sets up the heap, runs `main`, prints its failure, or else the memory that was used, and ends the image.
pub fn run(main: impl FnOnce(&mut HostStream) -> Result<(), Failure>) -> ! {
    memory::begin();
    let Ok(mut out) = hio::hstdout() else { end(false) };
    let outcome = main(&mut out);
    let printed = match &outcome {
        Ok(()) => {
            let (heap, stack) = (memory::heap_peak(), memory::stack_peak());
            writeln!(out, "heap {heap} of {}\nstack {stack}", memory::HEAP)
        }
        Err(failure) => writeln!(out, "failed {failure}"),
    };
    end(outcome.is_ok() && printed.is_ok())
}

/// Prints for each digit its number, the class with the largest logit, and all logits.
pub fn digits(out: &mut HostStream, all: &[Logits; DIGITS]) -> Result<(), Failure> {
    for (digit, logits) in all.iter().enumerate() {
        let largest = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        write!(out, "digit {digit} {}", largest.map_or(0, |(class, _)| class))?;
        for logit in logits {
            write!(out, " {logit}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
