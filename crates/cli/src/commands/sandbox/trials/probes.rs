//! The forbidden accesses that `zten sandbox` tries.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::thread;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::ptrace;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::kill;
use nix::unistd::getppid;
use rustix::thread::{capabilities, set_capabilities};

/// The name of a file in the trial's folder. The sandbox must prevent the confined process from opening it.
pub(super) const FILE: &str = "file";
/// The name of the file that stays open: it is opened before the process is confined, and used afterwards.
pub(super) const KEPT: &str = "kept";
/// The name of a file or folder that trials try to create in the trial's folder.
const NEW: &str = "new";
/// The name of a trial that accesses nothing and prints nothing. The trial that starts a process runs this trial in it.
pub(super) const NOTHING: &str = "nothing";
/// The name of a trial that accesses nothing and prints that the access was allowed.
pub(super) const SOMETHING: &str = "something";

/// The name of the trial that reads a terminal, which is its standard input.
pub(super) const TERMINAL: &str = "read-terminal";

/// An access to try.
pub(super) struct Probe {
    pub(super) name: &'static str,
    /// Tries the access. The argument is the file that was opened before confinement. An error is the reason of the denial.
    pub(super) run: fn(File) -> io::Result<()>,
}

macro_rules! probes {
    ($($name:tt $run:expr;)+) => { &[$(Probe { name: $name, run: $run },)+] };
}

/// The forbidden accesses.
pub(super) const PROBES: &[Probe] = probes! {
    "open-file" |_| File::open(FILE).map(drop);
    "write-file" |_| File::options().append(true).open(FILE).map(drop);
    "create-file" |_| File::create(NEW).map(drop);
    "remove-file" |_| fs::remove_file(FILE);
    "rename-file" |_| fs::rename(FILE, NEW);
    "link-file" |_| fs::hard_link(FILE, NEW);
    "look-for-file" |_| fs::metadata(FILE).map(drop);
    "change-mode" |_| fs::set_permissions(FILE, fs::Permissions::from_mode(0o777));
    "make-folder" |_| fs::create_dir(NEW);
    "list-folder" |_| fs::read_dir(".").map(drop);
    "change-folder" |_| std::env::set_current_dir("/");
    "another-handle" |kept| kept.try_clone().map(drop);
    "memory-file" |_| Ok(memfd_create(c"new", MFdFlags::MFD_CLOEXEC).map(drop)?);
    TERMINAL |_| read_line();
    "take-capability" |_| Ok(set_capabilities(None, capabilities(None)?)?);
    "tcp-listen" |_| TcpListener::bind("127.0.0.1:0").map(drop);
    "tcp-connect" |_| connect();
    "udp-socket" |_| UdpSocket::bind("127.0.0.1:0").map(drop);
    "unix-socket" |_| UnixDatagram::unbound().map(drop);
    "pipe" |_| io::pipe().map(drop);
    "start-process" |_| this(NOTHING).status().map(drop);
    "become-another" |_| Err(this(SOMETHING).exec());
    "start-thread" |_| thread::Builder::new().spawn(|| ()).map(drop);
    "be-traced" |_| Ok(ptrace::traceme()?);
    "signal-another" |_| Ok(kill(getppid(), None)?);
    "change-limit" |_| change_limit();
    "too-much-memory" |_| too_much_memory();
    "too-large-file" |mut kept| kept.write_all(&vec![0; 2 << 20]);
};

/// Faults of a program. They must end the process in another way than seccomp does, which would look like an attack.
pub(super) const FAULTS: &[Probe] = probes! {
    "panic" |_| panic!("as requested");
    "abort" |_| { std::hint::black_box(Vec::<u8>::with_capacity(256 << 20)); Ok(()) };
};

/// Connects to a port on which no process listens. The error for such a port means that connecting is allowed.
fn connect() -> io::Result<()> {
    use io::ErrorKind::{ConnectionRefused, NetworkUnreachable};
    match TcpStream::connect("127.0.0.1:1") {
        Err(error) if matches!(error.kind(), ConnectionRefused | NetworkUnreachable) => Ok(()),
        other => other.map(drop),
    }
}

/// Returns the command that runs `trial` in another process of this program.
fn this(trial: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["--no-sandbox", "sandbox", "--trial", trial]);
    command
}

/// Reads a byte from standard input, which is a terminal.
fn read_line() -> io::Result<()> {
    io::stdin().read_exact(&mut [0])
}

/// Sets a limit to its current value, which needs no privilege apart from the system call.
fn change_limit() -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_STACK)?;
    Ok(setrlimit(Resource::RLIMIT_STACK, soft, hard)?)
}

fn too_much_memory() -> io::Result<()> {
    let mut bytes: Vec<u8> = Vec::new();
    bytes.try_reserve_exact(256 << 20).map_err(|_| io::ErrorKind::OutOfMemory)?;
    // Without a use, the compiler could remove the allocation.
    std::hint::black_box(&mut bytes).push(1);
    Ok(())
}
