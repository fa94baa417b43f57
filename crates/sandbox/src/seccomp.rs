//! The system calls that are left: a table, and the filter that is made from it.
//!
//! A process that makes another call is killed, and not told that it may not: the code that runs in
//! confinement makes none, so a process that makes one has been taken over. But for one call: the C library
//! opens files of the kernel to learn how to give memory back, and takes no for an answer.

mod table;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::{Layer, Role};
pub use table::Call;
use table::{CALLS, Only, REJECTED};

#[cfg(target_arch = "x86_64")]
const MACHINE: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const MACHINE: TargetArch = TargetArch::aarch64;
#[cfg(target_arch = "riscv64")]
const MACHINE: TargetArch = TargetArch::riscv64;

/// The system calls that are left.
pub fn calls(role: Role) -> impl Iterator<Item = Call> {
    CALLS.iter().filter(move |call| call.role.is_none_or(|own| own == role)).copied()
}

/// Leaves these calls to all threads of this process.
pub(crate) fn restrict(role: Role) -> Layer {
    let restricted = filters(role).map_err(seccompiler::Error::Backend).and_then(|filters| {
        filters.iter().try_for_each(|filter| seccompiler::apply_filter_all_threads(filter))
    });
    match restricted {
        Ok(()) => Layer::Enforced,
        Err(error) => Layer::Missing(error.to_string()),
    }
}

/// Two filters, of which the stricter decides: one rejects, the other kills.
fn filters(role: Role) -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in calls(role) {
        let rules = rules.entry(call.number).or_default();
        // No rule at all would be any arguments.
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

/// None where any arguments will do.
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
