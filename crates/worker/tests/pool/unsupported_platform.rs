//! The items that tests of pools need on systems where no worker can be confined completely. These systems have no further tests.

use zten_worker::Function;

/// False because no worker can be confined completely on this platform.
pub(crate) const CONFINES: bool = false;

pub(crate) const TESTS: [(&str, fn()); 0] = [];

/// A function that no test calls.
pub(crate) static BEHAVE: Function = Function::new("behave", |_| Err("unused".to_owned()));
