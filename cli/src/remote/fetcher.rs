//! The process that talks to the server. It serves ranges of one file to the process at the other end of its
//! standard input, and looks at no byte of them.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::fd::AsFd as _;

use zten_remote::Plan;

use super::settings;
use super::wire::{self, Question};

/// Serves one file, until nothing more is asked.
pub(crate) fn run() -> io::Result<()> {
    zten_sandbox::end_with_parent();
    let socket = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (mut from, mut to) = (&socket, BufWriter::with_capacity(1 << 20, &socket));
    let file = match settings::open(&wire::text(&mut from)?) {
        Ok(file) => file,
        Err(error) => {
            wire::put_failure(&mut to, &error.to_string())?;
            return to.flush();
        }
    };
    wire::put_bytes(&mut to, &file.length().to_le_bytes())?;
    to.flush()?;
    while let Some(question) = wire::question(&mut from)? {
        match question {
            Question::Read(range) => {
                let served = file.read_with(range, |bytes| wire::put_bytes(&mut to, bytes));
                if let Err(error) = served {
                    wire::put_failure(&mut to, &error.to_string())?;
                }
            }
            // A process that plans what the file does not have was taken over.
            Question::Plan(ranges) => file.plan(Plan::from_iter(ranges))?,
        }
        to.flush()?;
    }
    Ok(())
}
