//! Runs one reader on one file within limits, and reports the outcome.
//!
//! The results of a reader go into a [`Report`], which is printed as lines of `key\tvalue`. If the reader does not return, the way
//! in which the process ends is the outcome.

mod guard;
mod report;

pub use guard::{Guarded, OVERRUN, overrun};
pub use half::{bf16, f16};
pub use report::{Component, Report};

use std::panic::PanicHookInfo;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The beginning of the line that a panic prints. The location and the message follow.
pub const PANIC: &str = "panicked\t";

/// The limit on the address space, in bytes.
pub const ADDRESSES: u64 = 4 << 30;
/// The limit on processor time in seconds, which does not depend on other load.
pub const SECONDS: u64 = 10;
/// The size of the stack in bytes, which is the usual default.
const STACK: u64 = 8 << 20;

/// Runs a reader on a file within the limits, and prints its report.
///
/// # Panics
/// [`Guarded`] is not the program's allocator, or the system rejects a limit.
pub fn run(file: &Path, read: impl FnOnce(&Path, &mut Report)) {
    std::panic::set_hook(Box::new(|info| eprintln!("{PANIC}{}\t{}", place(info), message(info))));
    assert!(guard::is_guarded(), "the allocator of the program is another");
    set_limits();
    let mut report = Report::default();
    read(file, &mut report);
    report.end();
}

/// Returns the location of the panic. In a package of a registry, this is the path of the file from the folder of the package on,
/// and the line. Otherwise it is the path without a line, in the standard library from the folder `library` on. It is empty if the
/// location is unknown.
fn place(info: &PanicHookInfo<'_>) -> String {
    let Some(location) = info.location() else { return String::new() };
    let parts: Vec<&str> = location.file().split('/').collect();
    let registry = parts.windows(2).position(|pair| pair == ["registry", "src"]);
    if let Some(at) = registry {
        return format!(
            "{}:{}",
            parts.get(at + 3..).unwrap_or_default().join("/"),
            location.line()
        );
    }
    let standard = parts.iter().position(|part| *part == "library").unwrap_or_default();
    parts.get(standard..).unwrap_or_default().join("/")
}

/// Returns the message on one line.
fn message(info: &PanicHookInfo<'_>) -> String {
    info.payload_as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sets the limits of this process. A limit that is above the maximum that the process may set becomes this maximum.
///
/// # Panics
/// Panics if the system rejects one.
fn set_limits() {
    set_limit(Resource::As, ADDRESSES);
    set_limit(Resource::Cpu, SECONDS);
    set_limit(Resource::Stack, STACK);
    set_limit(Resource::Core, 0);
}

fn set_limit(resource: Resource, limit: u64) {
    let maximum = getrlimit(resource).maximum;
    let limit = maximum.map_or(limit, |maximum| maximum.min(limit));
    let new = Rlimit { current: Some(limit), maximum };
    setrlimit(resource, new).unwrap_or_else(|error| panic!("no limit on {resource:?}: {error}"));
}

/// Uses the Rust type that represents a `ztensor::DType`, for whichever version of that crate the caller has.
#[macro_export]
macro_rules! by_type {
    ($dtype:expr, $element:ident => $do:block) => {{
        macro_rules! with {
            ($rust:ty) => {{
                type $element = $rust;
                $do
            }};
        }
        match $dtype {
            ztensor::DType::F64 => with!(f64),
            ztensor::DType::F32 => with!(f32),
            ztensor::DType::F16 => with!($crate::readers::subject::f16),
            ztensor::DType::BF16 => with!($crate::readers::subject::bf16),
            ztensor::DType::I64 => with!(i64),
            ztensor::DType::I32 => with!(i32),
            ztensor::DType::I16 => with!(i16),
            ztensor::DType::I8 => with!(i8),
            ztensor::DType::U64 => with!(u64),
            ztensor::DType::U32 => with!(u32),
            ztensor::DType::U16 => with!(u16),
            ztensor::DType::U8 => with!(u8),
            ztensor::DType::Bool => with!(bool),
        }
    }};
}
