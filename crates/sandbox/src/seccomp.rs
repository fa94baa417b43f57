//! The allowed system calls: a table, and the seccomp filters that are made from the table.
//!
//! Any other call kills the process instead of returning an error: the code that runs in confinement
//! makes no other call, so a process that makes one has been taken over. `openat` alone fails with an
//! error: the C library opens files of the kernel to learn how to give memory back, and copes with the
//! failure.

mod table;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::Layer;
pub use table::Call;
use table::{CALLS, Only, REJECTED};

#[cfg(target_arch = "x86_64")]
const MACHINE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const MACHINE: TargetArch = TargetArch::aarch64;
#[cfg(target_arch = "riscv64")]
const MACHINE: TargetArch = TargetArch::riscv64;

/// Returns the system calls that a confined process may make.
pub fn calls() -> impl Iterator<Item = Call> {
    CALLS.iter().copied()
}

/// Restricts all threads of this process to the system calls of [`calls()`], with the arguments that the table allows.
pub(crate) fn restrict() -> Layer {
    let restricted = filters().map_err(seccompiler::Error::Backend).and_then(|filters| {
        filters.iter().try_for_each(|filter| seccompiler::apply_filter_all_threads(filter))
    });
    match restricted {
        Ok(()) => Layer::Enforced,
        Err(error) => Layer::Missing(error.to_string()),
    }
}

/// Returns the two filters of system calls. The first one makes `openat` fail with an error. The second one kills the process at
/// any call that the table does not allow. The kernel runs both filters, and the stricter decision counts.
fn filters() -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in calls() {
        let rules = rules.entry(call.number).or_default();
        // An empty list of rules allows any arguments.
        if let Some(conditions) = conditions(call.only)? {
            rules.push(SeccompRule::new(conditions)?);
        }
    }
    rules.insert(REJECTED, Vec::new());
    let rejected = BTreeMap::from([(REJECTED, Vec::new())]);
    let reject = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let filter = |rules, otherwise, action| {
        SeccompFilter::new(rules, otherwise, action, MACHINE)?.try_into()
    };
    Ok([
        filter(rejected, SeccompAction::Allow, reject)?,
        filter(rules, SeccompAction::KillProcess, SeccompAction::Allow)?,
    ])
}

/// Returns the conditions, in the form of seccomp filters, that `only` puts on the arguments of a system call. All of them must
/// hold. Returns `None` if the call is allowed with any arguments.
fn conditions(only: Only) -> Result<Option<Vec<SeccompCondition>>, seccompiler::BackendError> {
    let bits = |argument, mask, value| {
        let operator = SeccompCmpOp::MaskedEq(mask);
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    };
    let whole = u64::from(u32::MAX);
    Ok(Some(match only {
        Only::Any => return Ok(None),
        Only::Argument(argument, value) => vec![bits(argument, whole, value)?],
        Only::NotOutput => {
            let other = |descriptor| {
                SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, descriptor)
            };
            vec![other(1)?, other(2)?]
        }
        Only::OwnMemory => vec![
            bits(2, flag(libc::PROT_EXEC), 0)?,
            bits(3, flag(libc::MAP_ANONYMOUS), flag(libc::MAP_ANONYMOUS))?,
        ],
        Only::NoCode => vec![bits(2, flag(libc::PROT_EXEC), 0)?],
        Only::OwnProcess => vec![bits(0, whole, std::process::id().into())?],
    }))
}

fn flag(flag: libc::c_int) -> u64 {
    u64::from(flag.unsigned_abs())
}
