//! Runs an image in an emulated board.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Result;

/// The time after which an image is stopped. The slowest image takes a second.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs an image until it ends, and returns what it printed. An image that ends with a failure, or does not end within two minutes,
/// is an error.
pub fn run(image: &Path) -> Result<String> {
    let mut qemu = Command::new("qemu-system-arm");
    qemu.args(["-machine", "mps2-an386", "-nographic"]);
    qemu.args(["-semihosting-config", "enable=on,target=native", "-kernel"]).arg(image);
    let spawned = qemu.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child =
        spawned.map_err(|error| format!("qemu-system-arm cannot be started: {error}"))?;
    let mut stdout = child.stdout.take().ok_or("no output")?;
    let reader = thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Err("the firmware did not end within two minutes in the emulator".into());
        }
        thread::sleep(Duration::from_millis(10));
    };
    let text = reader
        .join()
        .map_err(|_| "the thread that reads the output of the firmware panicked")??;
    if status.success() {
        Ok(text)
    } else {
        Err(format!("the firmware failed and printed: {}", text.trim()).into())
    }
}
