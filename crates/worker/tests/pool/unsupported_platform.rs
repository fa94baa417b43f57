//! Systems on which no worker can be confined completely have no further tests.

use zten_worker::Function;

/// Whether workers can be confined on this platform.
pub(crate) const CONFINES: bool = false;

pub(crate) const TESTS: [(&str, fn()); 0] = [];

/// A function that no test calls.
pub(crate) static BEHAVE: Function = Function::new("behave", |_| Err("unused".to_owned()));
